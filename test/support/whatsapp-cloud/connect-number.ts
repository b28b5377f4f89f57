import type { SimulatedNumber, SimulatedTemplate, Simulator } from './simulator-types.ts'

/** The part that all command lines of tests share. */
interface Cli {
  json<Answer>(...args: readonly string[]): Promise<Answer>
}

const BUSINESS_ACCOUNT = '102290129340398'

/** A number of the one business account. All numbers belong to the same app. */
export function cloudNumber(place: number, change: Partial<SimulatedNumber> = {}): SimulatedNumber {
  return {
    phoneNumberId: String(106_540_352_242_922 + place),
    businessAccountId: BUSINESS_ACCOUNT,
    number: String(15_550_003_000 + place),
    accessToken: 'EAAG-simulated-access-token',
    appSecret: '0123456789abcdef0123456789abcdef',
    verifyToken: 'simulated-verify-token',
    ...change,
  }
}

export const NOTICE: SimulatedTemplate = { name: 'notice', language: 'en_US', body: 'News for you: {{1}}' }

/** Adds a number to the network, and a connection of it to the service. Returns the path of its callbacks. */
export async function connectNumber(
  cli: Cli,
  simulator: Simulator,
  { number, settings = {} }: { number: SimulatedNumber; settings?: Readonly<Record<string, string>> },
): Promise<string> {
  simulator.addNumber(number)
  const pairs = {
    phone_number_id: number.phoneNumberId,
    business_account_id: number.businessAccountId,
    access_token: number.accessToken,
    app_secret: number.appSecret,
    verify_token: number.verifyToken,
    ...settings,
  }
  const set = Object.entries(pairs).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  const added = await cli.json<{ callback: { url: string } }>(
    ...['connection', 'add', number.number, '--channel', 'whatsapp-cloud'],
    ...set,
  )
  return new URL(added.callback.url).pathname
}
