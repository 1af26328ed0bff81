// Answers a compaction without asking a model, where Minutebook has a memory to put in the summary's place: the hooks
// of SessionStart print it right after. Without one, or when anything goes wrong, Claude Code compacts as ever.
import type { Register } from 'claude-code'

const KEPT_MESSAGES = 6
const KEPT_CHARACTERS = 60_000
const WAIT_MS = 5_000
const TRIES = 3 // a hook of a busy machine gives up after a second
const NOTE =
  '<minutebook-note>\nThe earlier part of this session was taken out of the context without a summary. ' +
  "Minutebook's records of it stand below; the latest messages are kept as they were.\n</minutebook-note>"

export const register: Register = (on) => {
  on('session.compact', async ($, e, next) => {
    if (e.agentId !== undefined || e.instructions || e.trigger === 'precompute') return next(e)
    try {
      const { transcriptPath } = await $.session.info()
      const env = await $.process.hookEnv()
      const payload = {
        session_id: await $.session.id(),
        transcript_path: transcriptPath,
        cwd: await $.session.cwd(),
        hook_event_name: 'PreCompact',
        trigger: e.trigger,
      }
      const argv = ['sh', env.CLAUDE_PLUGIN_ROOT + '/run.sh', 'om-hook', 'claude-code', 'PreCompact']
      let said = ''
      for (let tries = 0; said === '' && tries < TRIES; tries++) {
        const run = await $.process.run(argv, { stdin: JSON.stringify(payload), env, timeoutMs: WAIT_MS })
        said = run.exitCode === 0 ? run.stdout.trim() : ''
      }
      if (said === '') return next(e)
    } catch {
      return next(e)
    }
    let first = Math.max(0, e.messages.length - KEPT_MESSAGES)
    let characters = 0
    for (let at = e.messages.length - 1; at >= first; at--) {
      characters += e.messages[at].text.length
      if (characters > KEPT_CHARACTERS) first = Math.min(at + 1, e.messages.length - 2)
    }
    while (first > 0 && (e.messages[first] as { toolResults?: readonly unknown[] }).toolResults?.length) first--
    return { messages: [{ role: 'user' as const, text: NOTE, toolUses: [] }, ...e.messages.slice(Math.max(0, first))] }
  })
}
