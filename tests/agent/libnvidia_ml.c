/* A small libnvidia-ml.so.1 with three GPUs: 0 and 1 share NVLink, 1 tells no power, 2 can be lost. */
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };
enum { P2P_OK = 0, P2P_NOT_SUPPORTED = 1 };
typedef struct { unsigned index; } *device_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned gpu, memory; } utilization_t;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu_instance, compute_instance; } process_t;

static struct { unsigned index; } devices[3] = {{0}, {1}, {2}};
static int lost(device_t d) { return d->index == 2 && getenv("FAKE_GPU_LOST") != NULL; }
#define ALIVE(d) do { if (lost(d)) return GPU_IS_LOST; } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == GPU_IS_LOST ? "GPU is lost" : "Some error"; }
int nvmlSystemGetDriverVersion(char *out, unsigned size) { strncpy(out, "999.1", size); return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = 3; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device_t *out) {
    if (index >= 3) return INVALID;
    *out = (device_t)&devices[index];
    return SUCCESS;
}

int nvmlDeviceGetName(device_t d, char *out, unsigned size) {
    (void)d;
    strncpy(out, "NVIDIA A100-SXM4-80GB", size);
    return SUCCESS;
}

int nvmlDeviceGetUUID(device_t d, char *out, unsigned size) {
    strncpy(out, "GPU-real-0", size);
    out[9] = (char)('0' + d->index);
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(device_t d, memory_t *out) {
    ALIVE(d);
    out->total = 80ULL << 30;
    out->used = (unsigned long long)(d->index + 1) << 30;
    out->free = out->total - out->used;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(device_t d, utilization_t *out) {
    ALIVE(d);
    out->gpu = 10 * (d->index + 1);
    out->memory = 5;
    return SUCCESS;
}

int nvmlDeviceGetTemperature(device_t d, int sensor, unsigned *out) {
    ALIVE(d);
    *out = 40 + d->index + (unsigned)sensor;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(device_t d, unsigned *out) {
    ALIVE(d);
    if (d->index == 1) return NOT_SUPPORTED;
    *out = 250500;
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(device_t d, unsigned *count, process_t *out) {
    ALIVE(d);
    unsigned room = *count;
    *count = d->index == 0;
    if (*count > room) return INSUFFICIENT_SIZE;
    if (*count) out[0] = (process_t){4711, 1 << 30, 0, 0};
    return SUCCESS;
}

int nvmlDeviceGetP2PStatus(device_t a, device_t b, int index, int *out) {
    (void)index;
    *out = a->index + b->index == 1 ? P2P_OK : P2P_NOT_SUPPORTED;
    return SUCCESS;
}
