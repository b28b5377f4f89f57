/** What a recipient number makes the sandbox do. Every other recipient is simply delivered to. */
export const SANDBOX_COMMANDS = {
  '15550100001': 'refuse',
  '15550100002': 'busy-twice',
  '15550100003': 'unknown-delivered',
  '15550100004': 'unknown-lost',
  '15550100005': 'slow',
  '15550100006': 'away',
  '15550100007': 'refuse-later',
  '15550100008': 'kill-worker',
} as const
export type SandboxCommand = (typeof SANDBOX_COMMANDS)[keyof typeof SANDBOX_COMMANDS]

export function commandOf(recipient: string): SandboxCommand | null {
  return Object.hasOwn(SANDBOX_COMMANDS, recipient)
    ? SANDBOX_COMMANDS[recipient as keyof typeof SANDBOX_COMMANDS]
    : null
}
