"""The files of a replay: text in, the words of a workload out, and each mistake with its place."""

from scheduler.sim.files.bad import BadFile, decoded
from scheduler.sim.files.cluster import read_cluster
from scheduler.sim.files.faults import read_faults
from scheduler.sim.files.jobs import read_jobs
from scheduler.sim.files.policy import read_policy
from scheduler.sim.files.write import cluster_json, faults_csv, jobs_csv

__all__ = ["BadFile", "decoded", "read_cluster", "read_faults", "read_jobs", "read_policy"]
__all__ += ["cluster_json", "faults_csv", "jobs_csv"]
