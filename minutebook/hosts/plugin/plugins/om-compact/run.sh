#!/bin/sh
# run.sh om-hook|om ARGUMENTS: runs Minutebook's program wherever it was installed. Without one it says nothing.
name=$1
shift
noted=
{ read -r noted < "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/om-programs" ||
  read -r noted < "${CODEX_HOME:-$HOME/.codex}/om-programs"; } 2> /dev/null
plugin=${0%/*}
for program in "$noted/$name" "$(command -v "$name")" "$HOME/.local/bin/$name" "$plugin/../../../../../../../../bin/$name"; do
  if [ -f "$program" ] && [ -x "$program" ]; then
    exec "$program" "$@"
  fi
done
exit 0
