"""Statements and corrections in many styles: terse, polite, chatty, mistyped, non-native, German, Spanish, French."""

import pytest
from extractive_kit import Memory, assistant, observed, user

CORRECTIONS = [
    # (older statement, correction)
    ("The session cookie lives for 7 days.", "could we perhaps move to 14 days for the session cookie?"),
    ("Let's use feature flags from LaunchDarkly.", "let's not use LaunchDarkly after all, a yaml file will do"),
    ("Set max workers to 5.", "hmm, 5 workers is too few, make it 8"),
    ("The retro is on Monday.", "retro's tuesday now"),
    ("We want to evaluate Kafka for the bus.", "we ended up going with NATS for the bus instead of Kafka"),
    ("We should add a plugin system.", "drop the plugin system idea, too much for v1"),
    ("Frontend state goes into Redux.", "forget Redux, Zustand it is"),
    ("Pia Lindqvist is on call this week.", "Pia is off sick, ask Omar Haddad instead if something burns"),
    ("Karim owns the search service.", "Lucy has taken over the search service"),
    ("Release notes are written by Dan.", "from May on Hanna does the release notes"),
    ("The bucket for exports is acme-exports-dev.", "exports go to the bucket acme-exports-eu"),
    ("Die Frist ist der 12. März.", "Die Frist wurde auf den 19. März verschoben."),
    ("Der Cache läuft nach 10 Minuten ab.", "nee, der Cache soll doch erst nach 30 Minuten ablaufen"),
    ("Wir nehmen MySQL für den Katalog.", "Wir nehmen jetzt doch Postgres für den Katalog."),
    ("El límite es de 20 peticiones por minuto.", "el límite ahora es de 60 peticiones por minuto"),
    ("La reunión con el cliente es el jueves.", "La reunión con el cliente pasa al viernes."),
    ("Le port du proxy est 3128.", "Finalement le port du proxy est 8118."),
    ("On utilise Gulp pour le build.", "On n'utilise plus Gulp, on passe à Vite."),
    ("use node 18 for the ci image", "ci image shoud be node 20, not 18 anymor"),
    ("keep the logs 30 days", "logs: 30 days is to long, 10 days is enough"),
    ("The primary color is #3366ff.", "make primary colour #2255dd pls, the blue was too bright"),
    ("Password must be at least 8 characters.", "security wants 12 characters minimum for passwords now"),
    ("The staging db is called shop_stage.", "staging db got renamed, shop_stage2 now"),
    ("Invoices are sent on the 1st.", "invoices should rather go out on the 3rd"),
    ("Version 2.0 ships with dark mode.", "dark mode slips to 2.1"),
    ("Maximum attachment size: 15MB", "attachment size: let's say 25MB max"),
    ("Reviews by Marta please.", "Marta's left the team, Piotr does reviews now"),
    ("We test against Firefox ESR 115.", "firefox esr is 128 meanwhile, test against that one"),
    ("Use the eu-west-1 region.", "we have to be in eu-central-2, eu-west-1 was my mistake"),
    ("Write the docs in reStructuredText.", "docs in markdown please, I was confused with the other repo"),
    ("I want 4 spaces indentation.", "ok you win, 2 spaces indentation"),
    ("Poll every 5 seconds.", "polling every 5 seconds kills the battery, do 30"),
    ("The API key header is X-Key.", "they changed the API key header to Authorization-Key"),
    ("Deploy window is 22:00 to 23:00.", "deploy window starts at 21:00 as of next week"),
    ("Anything over 1000 euro needs approval by Sven.", "approvals over 1000 euro go to Birgit, Sven retired"),
    ("The job queue is called jobs.high.", "we publish to jobs.priority for the job queue from here on"),
    ("Timeout for the PDF renderer: 20s.", "PDF renderer: 20s was not enough, give it 45s"),
    ("We don't support Safari.", "we do need Safari support, sales promised it"),
    ("The MVP has user comments.", "user comments are out of the MVP"),
    ("Use bcrypt for passwords.", "argon2 for passwords, bcrypt was the old plan"),
    ("The nightly export runs at 3 am.", "can we push the nightly export to 5 am? 3 is when the backup runs"),
    ("Rounding is half up.", "rounding has to be half even, my bad"),
    ("Use Sentry for error tracking.", "we got a deal with Datadog so error tracking goes there"),
    ("The mobile team lead is Greta Holm.", "Greta moved to platform; Nils Berg leads mobile now"),
    ("API responses are cached for 60 seconds.", "api responses: cache em 15s max, 60 made support cry"),
    ("Ship the beta to 50 customers.", "beta goes to 20 customers only, sales got cold feet"),
    ("The secret lives in vault under kv/shop/stripe.", "stripe secret was moved, look under kv/payments/stripe"),
    ("We squash before merging.", "no more squashing before merge, the auditors want single commits"),
    ("The token expires after one hour.", "Token expiry should be two hours rather."),
    ("Default currency is USD.", "I had it wrong: default currency is CAD"),
    ("Standup is at 9:30.", "standup at 10 from tomorrow"),
    ("The app id is com.acme.shop.", "app id changed to com.acme.store"),
    ("Please name the new service tidepool.", "marketing doesn't like tidepool, let's call the service harbor"),
    ("Ich möchte Tabs.", "Doch lieber Leerzeichen statt Tabs."),
    ("Der Server steht in Frankfurt.", "Der Server steht jetzt in Helsinki."),
    ("Das Passwort muss 8 Zeichen haben.", "Passwörter müssen künftig 12 Zeichen haben."),
    ("Usamos npm.", "Mejor usamos pnpm en vez de npm."),
    ("El responsable es Pablo.", "Pablo ya no está, la responsable es Carmen."),
    ("La limite est de 100 requêtes.", "La limite passe à 250 requêtes."),
    ("On déploie le lundi.", "Désormais on déploie le mercredi."),
    ("Run the linter with flake8.", "flake8 is dead, ruff for linting"),
    ("Docs live in the wiki.", "we keep docs in the repo under docs/, the wiki is frozen"),
    ("Store avatars in S3.", "avatars to R2, not S3"),
    ("Images may be up to 2 MB.", "2 MB for images is a joke, allow 6 MB"),
    ("The feature is for premium users.", "change of heart, the feature is for everyone, not only premium"),
    ("Paginate by offset.", "cursor pagination pls instead of offset"),
    ("The report covers 12 months.", "report over 24 months, finance insists"),
    ("Escalations go to Mirko.", "for escalations talk to Selin from now on"),
    ("Retry webhooks 5 times.", "webhooks: 5 retries is overkill, 3 will do"),
    ("We target iOS 15.", "minimum iOS is 16 now, apple dropped 15 in the sdk"),
    ("The release is named Kestrel.", "Release name is Osprey, legal killed Kestrel"),
    ("Let's build it with Electron.", "Tauri, not Electron. final."),
    ("The quota per tenant is 5 GB.", "tenants get 8 GB quota as of today"),
    ("Sign-off comes from Helen.", "helen is on parental leave, Raj signs off until june"),
    ("The VAT rate is 19%.", "vat went down to 16%"),
    ("The customer id has 8 digits.", "customer ids are 10 digits long since the migration"),
    ("We publish to PyPI on Mondays.", "publishing moves to Wednesdays, Monday is release-meeting day"),
    ("Rosa Klein approves the budget.", "budget approvals are with Deniz Kaya now"),
    ("The max title length is 80 characters.", "titles can be 120 characters after all"),
    ("Staging runs in eu-west-1.", "staging is in eu-north-1 these days"),
    ("Thumbnails are 200 px wide.", "thumbnails should be 320 px wide, 200 looks blurry"),
    ("Name the config file settings.ini.", "hm no, config file is settings.toml"),
    ("The trial lasts 14 days.", "Trial is 30 days now, product decided."),
    ("The API is versioned by header.", "versioning by path instead of header pls"),
    ("Backups go to backup-01.internal.", "backups go to backup-02.internal since the disk died"),
    ("Die Sitzung endet nach 20 Minuten.", "Die Sitzung soll erst nach 45 Minuten enden."),
    ("Der Ansprechpartner ist Jens Vogt.", "Jens Vogt ist weg, der Ansprechpartner ist jetzt Eva Lang."),
    ("El plazo es el lunes.", "el plazo se ha movido al miércoles"),
    ("On utilise Jest pour les tests.", "on passe à Vitest pour les tests"),
    ("Write changelog entries by hand.", "changelog entries get generated from now on, don't write them by hand"),
    ("Admins log in with a password.", "admins must log in with SSO, no passwords any more"),
    ("The discount is 10%.", "make the discount 15%, 10 wont impress anyone"),
    ("Milan handles customer data requests.", "customer data requests: ask Joana, Milan moved to sales"),
]
STANDING = [
    # (statement, another one that leaves it alone)
    ("Never touch infra/prod.", "Don't touch infra/staging either."),
    ("Never touch src/a.py.", "Actually, don't touch src/b.py."),
    ("Logs of the api gateway are kept 30 days.", "Metrics of the api gateway are now kept 90 days."),
    ("Tom reviews the backend.", "Ana reviews the frontend now."),
    ("Tom reviews the code.", "Ana reviews the code too."),
    ("Karim owns the search service.", "Lucy owns the login service now."),
    ("Karim owns the search service.", "Karim is on holiday until Monday."),
    ("The staging deploy is on Tuesday.", "The production deploy is on Thursday now."),
    ("Fix page 2.", "Fix page 3."),
    ("The retry limit is 5.", "The page size limit is 100 now."),
    ("I work from 9 to 17.", "The demo is at 14:00 now."),
    ("My name is Ana.", "I told him no, Ana is not in this team."),
    ("The tests take 4 minutes.", "the build takes 9 minutes, too long"),
    ("Ask Maria before merging.", "Ask Tom for the staging password."),
    ("The ledger table is called ledger_entries.", "The audit table is now called audit_rows."),
    ("Use Postgres for orders.", "Use MySQL for the legacy import instead of csv files."),
    ("We deploy with Terraform.", "Docs are written in Markdown from now on."),
    ("Write docs in markdown.", "Config files in yaml please, not json."),
    ("Invoices are due after 30 days.", "Reminders go out after 14 days now."),
    ("Payments go through Stripe.", "Refunds go through Adyen from now on."),
    ("Emails go to ops@acme.example.", "Alerts go to oncall@acme.example from today on."),
    ("Branch names start with feat/.", "Tag names start with v from now on."),
    ("Deadline for the beta is Friday.", "The deadline for the docs moved to Monday."),
    ("Sprint review is on Wednesdays.", "Sprint planning moved to Mondays."),
    ("Jonas is the DBA.", "Amara does code review now."),
    ("Tomasz signs off migrations.", "Code review goes to Amara from today on."),
    ("The API listens on 8080.", "hmm, 5 workers is too few, make it 8"),
    ("Keep answers short.", "Keep idempotency keys for 72 hours, not 24."),
    ("The frontend runs on port 3000.", "the backend moved from port 8000 to 9000"),
    ("Session cookies live 7 days.", "Refresh tokens live 30 days now."),
    ("The importer is done, don't touch it.", "the exporter is not done, don't start the UI"),
    ("We support Firefox.", "we do need Safari support"),
    ("Redis is on port 6379.", "Postgres is on port 5433 now."),
    ("Prices are in cents.", "Weights are now in grams, not in kilos."),
    ("The admin password is in Vault.", "Put the API key in env, not in code."),
    ("Der Test dauert 5 Minuten.", "Der Build soll jetzt höchstens 10 Minuten dauern."),
    ("El puerto de la API es 8080.", "El puerto del proxy ahora es 3128."),
    ("Lena is the PM.", "Lena wants a PDF, I told her no."),
    ("Use 2 spaces in yaml files.", "4 spaces in python files please"),
    ("Customers in France pay 20% VAT.", "Customers in Germany pay 19% VAT."),
    ("Daily backup runs at 02:00.", "The weekly report runs at 06:00 now."),
    ("Python 3.11 is required.", "Node 20 is required now."),
    ("The read replica lags 5 seconds.", "The primary restarts in 30 seconds now."),
    ("Escalations go to Mirko.", "Invoices go to Selin from now on."),
    ("Greta leads the mobile team.", "Nils leads the web team now."),
    ("Docs live in the wiki.", "Secrets live in Vault now."),
    ("Use tabs in Makefiles.", "4 spaces in Python, not 2."),
    ("The customer id has 8 digits.", "order ids are 10 digits long since the migration"),
    ("Images may be up to 2 MB.", "videos up to 50 MB now"),
    ("VAT in Germany is 19%.", "VAT in Luxembourg went down to 16%"),
    ("Store avatars in S3.", "store logs in CloudWatch instead"),
    ("Standup is at 9:30.", "The retro is at 14:00 from tomorrow"),
    ("The app id is com.acme.shop.", "the bundle name changed to acme-store-ios"),
    ("Retry webhooks 5 times.", "emails are sent 3 times at most now"),
    ("The quota per tenant is 5 GB.", "the quota per user is 1 GB now"),
    ("Never log tokens.", "I told them no, tokens are not in scope"),
    ("Helen signs off releases.", "Raj signs off expenses now."),
    ("API responses are cached for 60 seconds.", "search results are now cached for 15 seconds"),
    ("The QA env is https://qa.acme.example.", "The docs are at https://docs.acme.example now."),
    ("Run the linter with ruff.", "Run the tests with nox from now on."),
    ("The report covers 12 months.", "the forecast covers 24 months now"),
    ("Default currency is USD.", "default language is German now"),
    ("The build takes 4 minutes.", "The deploy now takes 9 minutes."),
    ("Max 5 parallel uploads.", "max 100 rows per page now"),
    ("I own the checkout flow.", "Tim owns the catalog now."),
    ("Use Postgres 15 in prod.", "Use Node 20 in CI from now on."),
    ("Keep functions short.", "Keep the changelog in English, not German."),
    ("Never deploy on Fridays.", "don't deploy the docs, they are not ready"),
    ("Ask me before deleting data.", "no, delete the file now"),
    ("The webhook secret is in env HOOK_SECRET.", "the signing key is in env SIGN_KEY now"),
    ("Version 1.8 is in production.", "version 2.1 of the SDK is in beta now"),
]
STATED = [
    "pls dont push to release/* w/o asking",
    "we're on python 3.12 here",
    "Fabian's the one to ask about billing.",
    "I'd be grateful if you could keep function names in British spelling.",
    "It would be lovely if the tests could run without network.",
    "all prices incl. VAT, thats how the legacy system does it",
    "the sandbox merchant id is mrc_88213",
    "Bitte keine neuen Abhängigkeiten.",
    "Wir deployen nur dienstags.",
    "Ich arbeite im Plattformteam.",
    "Los precios se guardan en céntimos.",
    "No toques la carpeta legacy.",
    "Ne touche pas au dossier vendor.",
    "Je préfère des commits courts.",
    "Le responsable est Julien Moreau.",
    "nothing under vendor/ gets edited by hand",
    "we went for sqlite in the end because ops has no time",
    "after a long talk with the team: it'll be grpc",
    "tests first, then code. every time.",
    "My working hours are 9 to 3, so ping me before that.",
    "Don't bother with IE.",
    "PRs need two approvals, one from security.",
    "the flaky one is test_upload_resume, fails about 1 in 20",
    "You'll find the design at docs/adr/0007-sharding.md",
    "we lost data on 3 June because the backup had not run",
    "error budget for checkout is 0.1%",
    "answers in German please",
    "Nobody but me edits infra/prod.",
    "Anything touching PII goes through legal first.",
    "I can't have downtime between 8 and 18.",
    "GPU box is reachable as gpu3.lab.internal, user train",
    "hands off the generated clients pls",
    "Only Vera merges into release branches.",
    "the QA env is https://qa.acme.example, basic auth",
    "we sell in 4 countries: DE, AT, CH, LI",
    "Priya runs the data platform.",
    "Kindly refrain from renaming public methods.",
    "I'd be happier with fewer comments in the code.",
    "don't log tokens. ever.",
    "After some back and forth we settled on event sourcing.",
    "the decision was to postpone i18n",
    "The build agent has only 4 GB of memory.",
    "Every endpoint must check the tenant id.",
    "rollback = redeploy tag v1.8.3",
    "No ORM. No exceptions.",
    "answers shorter please, I'm on my phone",
    "je travaille chez Doctolib, équipe agenda",
    "Immer erst fragen, bevor du etwas löschst.",
    "nunca subas a main",
    "La base de datos está en el puerto 5433.",
    "Das Repo liegt unter git.acme.example/shop.",
    "Le déploiement se fait uniquement le mardi.",
    "I own the checkout flow, everything else is Tim's.",
    "we decided against microservices",
    "Latency must not exceed 50ms at the edge.",
    "the migration ran on prod last night, it's done, leave it",
    "My pronouns are they/them.",
    "for money use decimal, never float",
    "we keep 2 replicas, always",
    "customer wants SSO by end of March, it's in the contract",
]
NOT_STATED = [
    "someone on reddit claims that mypy is dead",
    "imagine we had 10x the traffic, would this hold?",
    "ha, that reminds me of my last job, we had 400 microservices there",
    "would be cool to have a CLI one day",
    "what a week",
    "can you show me the diff again?",
    "I read that Bun is faster",
    "the old docs say to run setup.sh first",
    "hmm would a bloom filter help?",
    "perhaps some day we'll support Windows",
    "thanks, that was quick",
    "it's raining here",
    "could you rerun the tests?",
]


@pytest.mark.parametrize(("old", "correction"), CORRECTIONS)
def test_corrected_statement_does_not_stand(old: str, correction: str) -> None:
    memory = Memory()
    memory.take(user(old), assistant("Noted."))
    assert f'"{old}"' in memory.text
    memory.take(user(correction))
    assert not any(one.content.endswith(f'"{old}"') for one in memory.active)


@pytest.mark.parametrize(("standing", "other"), STANDING)
def test_statement_about_another_thing_stands(standing: str, other: str) -> None:
    memory = Memory()
    memory.take(user(standing))
    memory.take(user(other))
    assert any(standing in one.content.split(" (was: ")[0] for one in memory.active)


@pytest.mark.parametrize("words", STATED)
def test_what_binds_is_weighty_003_019(words: str) -> None:
    assert {one["relevance"] for one in observed(user(words))} & {"high", "critical"}


@pytest.mark.parametrize("words", NOT_STATED)
def test_what_does_not_bind_is_not_003_019(words: str) -> None:
    assert {one["relevance"] for one in observed(user(words))} <= {"low", "medium"}


DUTIES = [
    # (who does what, who does it later); each of them alone on the subject
    ("Code review for everything goes to Jonas Petrak.", "One more change: code review goes to Amara Diallo."),
    ("Jonas Petrak is our release manager.", "Ines Varga is our release manager now."),
    ("Priya is on call this week.", "Priya is on vacation, Jonas is on call."),
    ("Tom owns the billing service.", "Maria has taken over the billing service."),
    ("Ask Lena about translations.", "For translations ask Marco."),
    ("Every migration needs a sign-off from Tomasz.", "Tomasz left. The sign-off comes from Birgit now."),
]


@pytest.mark.parametrize(("old", "new"), DUTIES)
def test_a_duty_passes_to_another_person(old: str, new: str) -> None:
    memory = Memory()
    memory.take(user("Karim owns the search service."), user(old), assistant("Noted."))
    memory.take(user(new))
    assert not any(one.content.endswith(f'"{old}"') for one in memory.active)
    assert '"Karim owns the search service."' in memory.text


REASONS = [
    "We go with a transactional outbox. Reason: we lost order.paid events when the broker was down.",
    "Let's keep the monolith. Otherwise we need a second on-call rota.",
    "Never rebase shared branches. The reason is that reviews lose their comments.",
    "Use SQLite for the cache. That way it needs no server.",
]


@pytest.mark.parametrize("prompt", REASONS)
def test_a_reason_stays_with_its_decision(prompt: str) -> None:
    assert [prompt in one["content"] for one in observed(user(prompt))] == [True]


WISHES = [
    'Lena from marketing wrote me: "please add a PDF attachment by Friday". I told her no, not in this release.',
    "The vendor asked us to switch to SOAP. We declined.",
    "Sales wants a dark mode for the demo. I said no.",
]


@pytest.mark.parametrize("prompt", WISHES)
def test_a_declined_wish_is_recorded_as_declined(prompt: str) -> None:
    assert [one["content"] for one in observed(user(prompt))] == [f'User declined: "{prompt}"']


def test_own_words_below_a_quotation_are_heard() -> None:
    memory = Memory()
    memory.take(user("Keep idempotency keys for 24 hours, that is plenty."))
    memory.take(
        user(
            "I just got this from support:\n\n> Keep your records for at least three days.\n\n"
            "So the idempotency keys: not 24 hours, keep them 72 hours."
        )
    )
    assert "So the idempotency keys: not 24 hours, keep them 72 hours." in memory.text
    assert "that is plenty" not in memory.text
    assert "three days" not in memory.text


def test_a_decline_unsays_nothing() -> None:
    memory = Memory()
    memory.take(user("I'm the backend lead of the orders service."), user("Read the invoice service first."))
    memory.take(user("I told her no, mails are not in this service and not in this release."))
    assert '"I\'m the backend lead of the orders service."' in memory.text
    assert "invoice service" in memory.text
