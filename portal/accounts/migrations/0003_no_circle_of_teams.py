"""The database refuses a circle in the tree of teams, also when two changes that are fine alone meet."""

from django.db import migrations

MAKE = """
CREATE FUNCTION accounts_team_no_circle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.parent_id IS NOT NULL THEN
        -- One change of the tree at a time; the walk below then sees what the one before it committed.
        PERFORM pg_advisory_xact_lock(hashtext('accounts_team_no_circle'));
        IF EXISTS (
            WITH RECURSIVE above(id) AS (
                SELECT NEW.parent_id
                UNION
                SELECT team.parent_id FROM accounts_team team JOIN above ON team.id = above.id
                WHERE team.parent_id IS NOT NULL
            )
            SELECT FROM above WHERE id = NEW.id
        ) THEN
            RAISE EXCEPTION 'team % would be below itself', NEW.name
                USING ERRCODE = 'check_violation', CONSTRAINT = 'team_is_in_no_circle';
        END IF;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER accounts_team_no_circle BEFORE INSERT OR UPDATE OF parent_id ON accounts_team
    FOR EACH ROW EXECUTE FUNCTION accounts_team_no_circle();
"""
UNMAKE = """
DROP TRIGGER accounts_team_no_circle ON accounts_team;
DROP FUNCTION accounts_team_no_circle();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_first_passwords")]

    operations = [migrations.RunSQL(MAKE, UNMAKE)]
