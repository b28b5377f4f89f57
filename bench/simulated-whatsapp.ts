import { Simulator } from '../test/support/whatsapp-web/simulator.ts'
import { answerParent } from './child.ts'
import { machineMs } from './machine-clock.ts'

// libsignal prints whole sessions with their keys.
for (const method of ['log', 'info', 'warn', 'error'] as const) console[method] = () => {}

let simulator: Simulator | null = null
let taken = 0
let lastTakenMs = 0

function running(): Simulator {
  if (!simulator) throw new Error('The simulator was not started')
  return simulator
}

const calls = {
  /** Returns the setting with which the service uses it. */
  async start() {
    const started = await Simulator.start()
    simulator = started
    started.isEveryoneRegistered = true
    started.messages.onSent = ({ isTaken }) => {
      if (!isTaken) return
      taken += 1
      lastTakenMs = machineMs()
    }
    return `${started.url}#${started.rootKey.public.toString('base64url')}`
  },
  scan: ({ number, code }: { readonly number: string; readonly code: string }) => running().pairing.scan(number, code),
  progress: () => ({
    taken,
    lastTakenMs,
    loggedIn: [...running().lines].filter(({ login }) => login !== null).length,
    complaints: running().takeComplaints(),
  }),
  /** From now on nothing is read or answered on the line of this number, as if WhatsApp's server had died. */
  freeze({ number }: { readonly number: string }) {
    const line = running().lineOf(number)
    if (!line) throw new Error(`${number} is not logged in`)
    line.isFrozen = true
  },
}
export type SimulatorCalls = typeof calls

process.once('SIGTERM', () => process.exit(0))
answerParent(calls)
