"""The flow, in its order. Nothing here can reach a model, a queue or a worker.

intake        accept_turns: where a turn enters
branches      paths, forks, lineages
sessions      what is known of a host's session: cursor, branches, counts
calibration   what provider-reported usage teaches about our estimate (pure)
clocks        due_roles: the only comparisons with a threshold (pure)
ledger        the memory entries of a branch, inherited ones included
folding       memory entries -> memory (pure)
outcomes      commit_outcome: where what was learned is recorded, with its coverage, or not at all
pages         memory -> columns of rendered lines (pure)
projection    page + boundary -> what is visible (pure)
reducing      memory -> what of it a later rendering may still show (pure)
totals        memory -> the numbers that clocks and status need (pure)
sourcetext    a source entry -> its text (pure)
excerpts      model-free extracts, cut at tool-call boundaries (pure)
quoting       stored content inside our block: harmless (pure)
rendering     what is visible -> text (pure)
checkpoints   a memory folded in advance, for compaction, status and the next commit
remembering   what a commit writes beside its entries
compaction    compose_memory: what an agent gets back
corrections   what a person adds or takes back
recall        an id -> the record and its exact source
search        words -> records and turns
mentions      which memory entries name an id
status        the numbers
"""
