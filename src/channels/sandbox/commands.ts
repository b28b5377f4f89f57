interface Command {
  readonly command: string
  /** For people: what happens, and how it ends. */
  readonly happens: string
  readonly ends: string
}

/** What a recipient number makes the sandbox do. Every other recipient is simply delivered to. */
export const SANDBOX_COMMANDS = {
  '15550100001': { command: 'refuse', happens: 'always rejected', ends: 'FAILED `recipient_refused`' },
  '15550100002': {
    command: 'busy-twice',
    happens: 'busy twice, then fine',
    ends: 'PUBLISHED after three attempts, about 6 seconds',
  },
  '15550100003': {
    command: 'unknown-delivered',
    happens: 'the connection breaks',
    ends: 'UNCONFIRMED `result_unknown`; it is in the inbox',
  },
  '15550100004': {
    command: 'unknown-lost',
    happens: 'the connection breaks',
    ends: 'UNCONFIRMED `result_unknown`; it is not in the inbox',
  },
  '15550100005': { command: 'slow', happens: 'takes 5 seconds', ends: 'PUBLISHED' },
  '15550100006': {
    command: 'away',
    happens: 'the sandbox is away for 10 seconds',
    ends: 'the lane waits `connection_away`, then PUBLISHED',
  },
  '15550100007': {
    command: 'refuse-later',
    happens: 'accepted, and reported as failed 2 seconds later',
    ends: 'PUBLISHED, then FAILED `refused_later`',
  },
  '15550100008': {
    command: 'kill-worker',
    happens: 'the process ends during the attempt',
    ends: 'FAILED `quarantined` after the third time',
  },
} as const satisfies Readonly<Record<string, Command>>
export type SandboxCommand = (typeof SANDBOX_COMMANDS)[keyof typeof SANDBOX_COMMANDS]['command']

/** What the sandbox says where it fails as its recipient asks. */
export function failureWords(command: SandboxCommand): string {
  const { happens } = Object.values(SANDBOX_COMMANDS).find((one) => one.command === command) as Command
  return `a test number: ${happens}`
}

/** Null: an ordinary number, to which everything is delivered. */
export function commandOf(recipient: string): SandboxCommand | null {
  return Object.hasOwn(SANDBOX_COMMANDS, recipient)
    ? SANDBOX_COMMANDS[recipient as keyof typeof SANDBOX_COMMANDS].command
    : null
}
