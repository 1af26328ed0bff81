-- uses: once fence dirty documents appending
-- flags: allow-oom
-- An append that begins a stream anew and makes it no longer: this is done on a full server, too.
-- Returns what appending.lua says.
return append()
