"""The database lets nobody rewrite the history of the policy."""

from django.db import migrations

MAKE = """
CREATE FUNCTION cycle_policy_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'version % of the policy is history; make a new one', OLD.number
        USING ERRCODE = 'check_violation', CONSTRAINT = 'policy_is_append_only';
END $$;
CREATE TRIGGER cycle_policy_append_only BEFORE UPDATE OR DELETE ON cycle_policyversion
    FOR EACH ROW EXECUTE FUNCTION cycle_policy_append_only();
"""
UNMAKE = """
DROP TRIGGER cycle_policy_append_only ON cycle_policyversion;
DROP FUNCTION cycle_policy_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [("cycle", "0002_policy")]

    operations = [migrations.RunSQL(MAKE, UNMAKE)]
