import type { AdapterCase } from './adapter-case.ts'
import { type AdapterUnderTest, inWords } from './adapter-under-test.ts'
import type { Disturbance, GatewayProxy } from './gateway-proxy.ts'

interface Trial {
  readonly name: NonNullable<Disturbance>
  /** Whether the gateway has the message by then. */
  readonly isThrough: boolean
  readonly title: string
}

const TRIALS: readonly Trial[] = [
  { name: 'refused', isThrough: false, title: 'rejects a message when the gateway refuses the connection' },
  {
    name: 'cut-before',
    isThrough: false,
    title: 'hands a message over once when the line breaks before the gateway has it',
  },
  { name: 'cut-after', isThrough: true, title: 'does not reject what the gateway took before the line broke' },
  { name: 'cut-amid', isThrough: true, title: 'does not reject what the gateway took when its answer breaks off' },
  { name: '500', isThrough: true, title: 'does not reject what the gateway took when it answers 500' },
  { name: 'garbage', isThrough: true, title: 'does not reject what the gateway took when it answers with garbage' },
  {
    name: 'hang',
    isThrough: true,
    title: 'does not reject what the gateway took when it does not answer, and says so in time',
  },
]

// The adapter has to answer before this is over.
const HANG_MS = 6_000

/** What an adapter says when its gateway, or the line to it, fails. */
export function gatewayCases(
  adapter: AdapterUnderTest,
  { proxy, to }: { readonly proxy: GatewayProxy; readonly to: string },
): readonly AdapterCase[] {
  return TRIALS.map((trial) => ({ title: trial.title, run: () => disturbed(adapter, { ...trial, proxy, to }) }))
}

interface Disturbed extends Trial {
  readonly proxy: GatewayProxy
  readonly to: string
}

async function disturbed(adapter: AdapterUnderTest, { proxy, name, isThrough, to }: Disturbed): Promise<string | null> {
  const notAfter = Date.now() + HANG_MS
  const fields = adapter.fieldsOf({ to, ...(name === 'hang' ? { notAfter } : {}) })
  proxy.calls = 0
  await proxy.set(name)
  const attempted = await adapter.attempt(fields)
  const isLate = name === 'hang' && Date.now() > notAfter
  await proxy.set(null)
  if ('problem' in attempted) return attempted.problem
  const { result } = attempted.outcome
  if (name === 'refused') return result === 'rejected' ? null : inWords(attempted)
  const { calls } = proxy
  if (calls === 0) return 'No call came by --proxy: start the adapter with that address as its gateway.'
  if (isThrough && result === 'rejected') return inWords(attempted)
  if (isLate) return 'It answered after notAfter.'
  await adapter.attempt(fields)
  return proxy.calls === 1 ? null : `It called the gateway ${proxy.calls} times for one attempt.`
}
