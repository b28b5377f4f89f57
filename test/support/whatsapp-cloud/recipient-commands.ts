import type { CallbackPlan, Simulator } from './simulator-types.ts'

interface RecipientCommand {
  readonly recipient: string
  /** What happens, in words for people. */
  readonly happens: string
  readonly prepare: (simulator: Simulator, recipient: string) => void
}

const FAILS_LATER = '15550200008'

/** What each recipient number makes the simulator do when it runs on its own. All other numbers receive their message. */
export const RECIPIENT_COMMANDS: readonly RecipientCommand[] = [
  {
    recipient: '15550200001',
    happens: 'refused for good (131026)',
    prepare: (simulator, to) => simulator.fail({ to, code: 131026 }),
  },
  {
    recipient: '15550200002',
    happens: 'busy twice (131016), then fine; once in each run',
    prepare: (simulator, to) => simulator.fail({ to, code: 131016, times: 2 }),
  },
  {
    recipient: '15550200003',
    happens: 'delivered, but the line breaks before the answer',
    prepare: (simulator, to) => simulator.dropAfterActing({ to }),
  },
  {
    recipient: '15550200004',
    happens: 'not delivered, and the line breaks',
    prepare: (simulator, to) => simulator.dropBefore({ to }),
  },
  {
    recipient: '15550200005',
    happens: 'takes 5 seconds',
    prepare: (simulator, to) => simulator.fault('slow', { to, delayMs: 5_000 }),
  },
  {
    recipient: '15550200006',
    happens: 'wrote nothing for 24 hours: only templates are taken (131047)',
    prepare: (simulator, to) => simulator.closeWindow(to),
  },
  {
    recipient: '15550200007',
    happens: 'the same, and it comes out by a callback',
    prepare: (simulator, to) => simulator.closeWindow(to, 'by-callback'),
  },
  {
    recipient: FAILS_LATER,
    happens: 'taken, and refused by a callback (131026)',
    prepare: () => {},
  },
  {
    recipient: '15550200009',
    happens: 'delivered, but never answered',
    prepare: (simulator, to) => simulator.fault('hang-after', { to }),
  },
]

/** Those of the commands that callbacks carry out. */
export const FAILING_LATER: NonNullable<CallbackPlan['failLater']> = { code: 131026, to: FAILS_LATER }
