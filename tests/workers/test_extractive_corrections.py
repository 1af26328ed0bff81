"""What a correction supersedes, near and far, and what it must leave alone."""

import pytest
from extractive_kit import Memory, assistant, user

SUPERSEDES = [
    # (older statement, correction)
    ("The API port is 8080.", "The API port is 8443, not 8080."),
    ("The limit of queue1 is 1001.", "The limit of queue1 is 1501."),
    ("Region 1 must use port 8001.", "Region 1 must now use port 9001."),
    ("Nightly jobs go to server1.", "Nightly jobs go to server2 now."),
    ("The deadline is Friday.", "Actually the deadline moved to Monday."),
    ("The release deadline is Friday.", "Sorry, the deadline is Monday, not Friday."),
    (
        "Let's use Redis Streams for the job queue.",
        "Scratch that, we're moving from Redis Streams to plain Postgres LISTEN/NOTIFY.",
    ),
    ("Tom signs off every release.", "it's Maria who signs off, not Tom"),
    ("Tom approves the release notes.", "Correction: Maria signs off on the release notes, not Tom."),
    ("We use yarn for packages.", "Use pnpm instead of yarn."),
    ("We use yarn for packages.", "From now on pnpm, not yarn."),
    ("Always use yarn.", "Don't use yarn anymore, use pnpm."),
    ("The request timeout is 10s.", "Bump the request timeout to 30s."),
    ("The request timeout is 10s.", "Actually, make the request timeout 30 seconds."),
    ("At most 3 retries per request.", "The retry limit is 5, not 3 retries."),
    ("Retries must be at most three.", "No, retries must be at most five."),
    ("The default branch is main.", "The default branch is now trunk."),
    ("Our staging host is stg-1.internal.", "Staging moved from stg-1.internal to stg-2.internal."),
    ("Never commit directly to main.", "It's fine to commit directly to main now."),
    ("Ask Maria before merging anything.", "You no longer need to ask Maria before merging."),
    ("Name the package acme-core.", "Rename the package from acme-core to acme-kernel."),
    ("The config lives in deploy/prod.yaml.", "The config now lives in infra/prod.yaml."),
    ("We'll deploy to Heroku.", "Change of plan: we'll deploy to Fly.io rather than Heroku."),
    ("I prefer tabs.", "I changed my mind, spaces instead of tabs."),
    ("The budget is 400 euros.", "The budget is 650 euros now."),
    ("Support Python 3.9.", "Drop Python 3.9, 3.11 is the minimum."),
    ("Logs are kept for 30 days.", "Wait, logs are kept for 90 days."),
    ("Use MongoDB for the audit log.", "Forget MongoDB, put the audit log in Postgres."),
    ("The demo is at 14:00.", "The demo was pushed to 16:30."),
    ("The API port is 8080.", "The API port is 8443."),
    ("El puerto es 8080.", "En realidad el puerto es 8443, no 8080."),
    ("Der Port ist 8080.", "Nein, der Port ist 8443 statt 8080."),
    ("服务端口是 8080。", "不对，服务端口是 8443，不是 8080。"),
    ("Keep the feature flag new_checkout off.", "We're switching the feature flag new_checkout from off to on."),
    ("The table is called user_events.", "It's called account_events, not user_events."),
    ("The on-call this week is Priya.", "Priya swapped with Jonas, so Jonas is on call this week."),
    ("use UUIDv7 for ids everywhere", "Hmm, forget UUIDv7, we'll take ULIDs."),
    ("rate limit: 100 req/min per key", "rate limit is 250 req/min per key after all"),
    ("the service is named ledgerd", "We're renaming ledgerd to bookd."),
    ("Feature freeze starts March 3.", "The freeze slipped to March 10."),
    ("We agreed with legal to keep raw logs 14 days max.", "Legal came back: raw logs may be kept 30 days, not 14."),
    ("Let's skip GraphQL for now.", "Let's do GraphQL after all."),
    ("keep the bundle below 250kB", "bundle limit is 300kB now, not 250"),
    ("We promised Globex a demo on the 14th.", "The Globex demo is on the 21st instead."),
    ("Our SLA is 99.9%.", "SLA got bumped to 99.95%."),
    ("Prod deploys happen only on Tuesdays.", "Deploys moved to Thursdays."),
    ("Secrets go in Vault, nowhere else.", "Secrets go in AWS Secrets Manager instead of Vault."),
    ("The QA contact is lena@globex.example.", "QA contact changed, it's omar@globex.example now"),
    ("Money is stored as integer cents.", "No wait, money should be stored as decimal strings, not integer cents."),
    ("Use JWT for sessions.", "Actually let's drop JWT and use server-side sessions."),
    ("The cache TTL is 60 seconds.", "Cache TTL should be 5 minutes."),
    ("The main region is eu-central-1.", "we moved the main region to eu-north-1"),
    ("Tom is the reviewer for payments.", "Tom left, Ines is the reviewer for payments now."),
    ("We use Jest.", "we've migrated to Vitest, Jest is gone"),
    ("Run tests with make test.", "Tests run with just test now, not make test."),
    ("Put new endpoints under /v1.", "put new endpoints under /v2 instead"),
    ("Name the flag --fast.", "call the flag --quick, not --fast"),
    ("The job runs every 10 minutes.", "let's run the job every 15 minutes instead"),
    ("Support Windows.", "We're dropping Windows support."),
    ("Commit messages should be in German.", "I've changed my mind about commit messages: English please."),
    ("Max upload size is 10 MB.", "Raise the max upload size to 25 MB."),
    ("The API must stay backwards compatible.", "The API doesn't have to stay backwards compatible any more."),
    ("Postgres runs on port 5432.", "postgres is on 5433, my mistake"),
    ("The launch is on May 2.", "Launch date changed: May 9."),
    ("Use tabs for indentation.", "Use spaces for indentation."),
    ("Use port 6380 for Redis.", "Redis listens on 6379, sorry about that."),
    ("Alice will review the migration.", "Alice is out sick; Bob will review the migration."),
    ("Store uploads in /var/data/uploads.", "Uploads should go to /srv/uploads instead."),
    ("We're targeting the 2.4 release.", "We're now targeting 2.5."),
    ("The sprint ends on Thursday.", "The sprint was extended to next Tuesday... so it ends on Tuesday."),
    ("Deploy with Terraform.", "We're ditching Terraform for Pulumi."),
    ("Only admins can delete projects.", "Owners can delete projects too now, not only admins."),
    ("The webhook secret env var is HOOK_SECRET.", "The env var is called WEBHOOK_SECRET, not HOOK_SECRET."),
    ("Please use snake_case for JSON keys.", "I know I said snake_case, but JSON keys should be camelCase."),
    ("We'll ship on June 3.", "we won't make June 3, new date is June 17"),
    ("The batch size is 500.", "lower the batch size to 200"),
    ("Frontend is in React.", "Frontend is in Svelte, not React - I misremembered."),
    ("Target Python 3.10.", "Let's target Python 3.12 rather than 3.10."),
    ("No ORMs.", "ok you can use SQLAlchemy after all, I take back the no ORMs rule"),
    ("Run the nightly job at 02:00.", "Nightly job goes to 03:30 because of backups."),
    ("Keep responses under 2 seconds.", "Responses under 5 seconds are good enough."),
    ("The tenant id header is X-Tenant.", "the tenant id header is now X-Org-Id"),
    ("Never deploy on Fridays.", "Friday deploys are fine from now on."),
    ("Log to stdout.", "Don't log to stdout, log to the journal."),
    ("Use Kafka for events.", "Kafka is off the table, NATS it is."),
    ("I want the sidebar on the left.", "Actually put the sidebar on the right."),
    ("The client is Acme.", "Correction: the client is Initech."),
    ("The invoice currency is EUR.", "invoices are in CHF, not EUR"),
    ("Primary key is an integer.", "make the primary key a UUID instead of an integer"),
    ("Branch names start with feature/.", "Branch names should start with feat/ from now on."),
    ("Cache for 10 minutes.", "No — cache for one hour."),
    ("The lead is Tom.", "Tom isn't the lead anymore, Ines is."),
    ("Rate limit to 100 requests per minute.", "rate limit to 60 requests per minute"),
]
INNOCENT = (
    "The metrics proxy listens on 9090.",
    "Never log customer e-mail addresses.",
    "Anna owns the billing service.",
    "The write timeout is 7s.",
    "I prefer small functions.",
    "The audit bucket is in eu-central-1.",
)


@pytest.mark.parametrize(("old", "correction"), SUPERSEDES)
def test_old_statement_does_not_stand(old: str, correction: str) -> None:
    memory = Memory()
    memory.take(user(old), assistant("Noted."), *(user(text) for text in INNOCENT))
    assert f'"{old}"' in memory.text
    for turn in range(5):
        memory.take(user(f"Fix the layout of page {turn}"), assistant("Done."))
    memory.take(user(correction))
    standing = memory.text.split(" (was: ")[0] if " (was: " in memory.text else memory.text
    assert f'"{old}"' not in standing
    assert correction in memory.text
    assert all(text in memory.text for text in INNOCENT)


@pytest.mark.parametrize(("old", "correction"), SUPERSEDES)
def test_correction_in_the_same_batch(old: str, correction: str) -> None:
    memory = Memory()
    memory.take(user(old), assistant("Noted."), user(correction))
    assert not any(one.content.endswith(f': "{old}"') for one in memory.active)


@pytest.mark.parametrize(
    ("standing", "correction"),
    [
        ("The metrics proxy listens on 8080.", "The API port is 8443, not 8080."),
        ("The limit of queue1 is 1001, never exceed it.", "The limit of queue2 is 1002, never exceed it."),
        ("Region 1 must use port 8001.", "Region 2 must use port 8002."),
        ("node-1 must run Debian 12.", "node-2 must run Debian 13 from now on."),
        ("The timeout of worker1 is 10s.", "Actually, make the timeout of worker2 30s."),
        ("Tom owns the billing service.", "it's Maria who signs off, not Tom"),
        ("The write timeout is 10s.", "The read timeout is now 30s."),
        ("The design review is on Friday.", "Actually the deadline moved to Monday."),
        ("Never push on Fridays.", "The deadline is Monday, not Friday."),
        ("Use Postgres for the ledger.", "Use pnpm instead of yarn."),
        ("Retry uploads at most 3 times.", "Bump the request timeout to 30s."),
        ("The metrics port is 8443.", "The API port is 8443, not 8080."),
        ("Never commit directly to main.", "no, the button should be blue"),
        ("Always run the tests before a commit.", "Actually, it's the background color that doesn't change."),
        ("Keep the audit log for 90 days.", "That's not the audit log."),
        ("The write timeout is 10s.", "Set the retry limit to 5."),
        ("Use Postgres for orders.", "Use Redis for sessions."),
        ("The API runs on port 8080.", "The admin UI runs on port 9090."),
        ("Maria signs off releases.", "Tom reviews the design."),
        ("Deadline for the beta is Friday.", "The demo is on Monday."),
        ("Never commit to main.", "Commit the changes now."),
        ("Tests must pass before merging.", "the tests are not passing now"),
        ("The bucket is called acme-logs.", "The queue is called acme-jobs."),
        ("Keep the bundle below 250kB.", "The image is now 300kB."),
        ("Run tests with make test.", "run the tests again, not the linter"),
        ("We use Jest for the frontend.", "We use pytest for the backend."),
        ("I prefer tabs.", "move the button to the right instead"),
        ("Use UUIDs for ids.", "replace the ids in the fixture with real ones"),
        ("The staging host is stg-1.internal.", "The production host is prod-1.internal."),
        ("Ana is the lead of payments.", "Ben is the lead of search now."),
        ("At most 3 retries per request.", "At most 50 connections to Postgres."),
        ("The config lives in deploy/prod.yaml.", "The schema lives in db/schema.sql."),
        ("Never push on Fridays.", "push it now, not later"),
        ("Add a button to the page.", "make the button blue, not red"),
        ("Python 3.11 only.", "bump the version to 0.4.2"),
        ("The theme file is dark.json.", "we just want to say that themes are not supported"),
    ],
)
def test_unrelated_statement_stands(standing: str, correction: str) -> None:
    memory = Memory()
    memory.take(user(standing))
    memory.take(user(correction))
    assert f'"{standing}"' in memory.text


def test_what_only_a_number_tells_apart_stands_side_by_side() -> None:
    memory = Memory()
    said = [f"server{at} must use port {8000 + at}." for at in range(1, 9)]
    memory.take(*(user(text) for text in said[:4]))
    memory.take(*(user(text) for text in said[4:]))
    assert all(f'"{text}"' in memory.text for text in said)


def test_words_that_point_back_carry_what_they_replace() -> None:
    memory = Memory()
    memory.take(user("The request timeout is 10s."), assistant("Noted."))
    memory.take(user("No, make it 30s."))
    assert memory.text == 'User corrected: "No, make it 30s." (was: "The request timeout is 10s.")'


def test_only_the_last_state_of_a_chain_stands() -> None:
    memory = Memory()
    for text in (
        "The API port is 8080.",
        "The API port is 8443, not 8080.",
        "Actually the API port is 9443, not 8443.",
    ):
        memory.take(user(text))
    assert memory.text == 'User corrected: "Actually the API port is 9443, not 8443."'


def test_going_back_replaces_the_correction() -> None:
    memory = Memory()
    for text in ("Use yarn.", "Use pnpm instead of yarn.", "Go back to yarn instead of pnpm."):
        memory.take(user(text))
    assert memory.text == 'User corrected: "Go back to yarn instead of pnpm."'


def test_a_decision_of_the_assistant_is_superseded_too() -> None:
    memory = Memory()
    memory.take(user("Build the queue."), assistant("I'll use Redis Streams because it has consumer groups."))
    assert "Redis Streams" in memory.text
    memory.take(user("We're moving from Redis Streams to Postgres LISTEN/NOTIFY."))
    assert "consumer groups" not in memory.text


def test_events_are_not_unsaid() -> None:
    from extractive_kit import call, result

    memory = Memory()
    memory.take(
        assistant("", call("Bash", "c1", command="git commit -m 'Use yarn'")), result("c1", "[main 1a2b3c4] Use yarn\n")
    )
    memory.take(user("Use pnpm instead of yarn."))
    assert "Committed 1a2b3c4 on main: Use yarn" in memory.text


def test_foreign_observations_can_be_superseded() -> None:
    """What a model recorded in its own words is found as well."""
    from minutebook.records import Observation

    old = Observation(
        id="0" * 12,
        content="The user wants yarn as the package manager.",
        timestamp="2026-03-01 10:00",
        relevance="high",
        source_ids=("e0",),
    )
    memory = Memory(active=[old])
    memory.take(user("Use pnpm instead of yarn."))
    assert memory.text == 'User corrected: "Use pnpm instead of yarn."'
