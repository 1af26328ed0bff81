-- uses: once fence dirty documents appending
-- Returns what appending.lua says.
return append()
