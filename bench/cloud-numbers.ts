import { WHATSAPP_CLOUD } from '../src/channels/whatsapp-cloud/name.ts'
import { DEFAULT_LANE_POLICY } from '../src/core/connection/lane-policy.ts'
import { secretPlaceOf } from '../src/core/connection/secret-place.ts'
import type { AccountId } from '../src/core/ids.ts'
import { openAdministration } from '../src/server/wiring/open-administration.ts'
import { newConnectionId } from '../src/storage/queries/new-id.ts'
import type { MadeData } from './made-data.ts'
import { settingsFor } from './settings-for.ts'

const FIRST_NUMBER = 15_550_200_000
const FIRST_PHONE_NUMBER_ID = 106_540_352_242_922
export const APP = 'BenchBenchBenchBenchBe'
export const APP_SECRET = 'the app secret of the bench'

/** Adds connections of WhatsApp Cloud. Returns their numbers. */
export async function connectCloudNumbers(
  { dataDir, environment, accountId }: MadeData,
  count: number,
): Promise<readonly string[]> {
  const session = await openAdministration(settingsFor(dataDir, environment), { create: false })
  const secrets = await session.openSecrets()
  const numbers: string[] = []
  for (let place = 0; place < count; place += 1) {
    const id = newConnectionId()
    const phoneNumberId = String(FIRST_PHONE_NUMBER_ID + place)
    const number = String(FIRST_NUMBER + place)
    const own = { id, accountId: accountId as AccountId }
    const seal = (name: string, plain: string) => secrets.seal(plain, secretPlaceOf(own, name))
    const channelSettings = {
      phoneNumberId,
      businessAccountId: '102290129340398',
      accessToken: seal('accessToken', 'the access token of the bench'),
      appSecret: seal('appSecret', APP_SECRET),
      verifyToken: seal('verifyToken', 'the verify token of the bench'),
    }
    const link = { networkKey: phoneNumberId, callbackApp: APP }
    const of = { ...own, number, channel: WHATSAPP_CLOUD, channelSettings, link }
    await session.administration.addConnection({ ...of, policy: DEFAULT_LANE_POLICY }, 'bench')
    numbers.push(number)
  }
  await session.close()
  return numbers
}
