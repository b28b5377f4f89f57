import { meaningOfWhatsAppCloud } from '../../core/reasons/whatsapp-cloud.ts'
import { Refusal } from '../../core/refusals.ts'
import { fillText } from '../../core/sentences/texts.ts'
import type { GraphAnswer } from './graph-client.ts'
import type { GraphError } from './outcome.ts'

type Asked = 'phone_number_id' | 'business_account_id'

const OBJECTS: Readonly<Record<Asked, string>> = {
  phone_number_id: 'number',
  business_account_id: 'WhatsApp business account',
}

/** “The token may read messages but not manage them” and other missing permissions are all fixed in one place. */
const PERMISSIONS: Readonly<Record<Asked, string>> = {
  phone_number_id: 'whatsapp_business_messaging',
  business_account_id: 'whatsapp_business_management',
}

/** Codes of the Graph API itself for “there is no such thing, or you may not see it” (its page “Error handling”). */
const NO_SUCH_OBJECT: readonly number[] = [33, 100, 803]
/** For a version that is gone or never was. */
const NO_SUCH_VERSION: readonly number[] = [2_500, 2_635]

/** Why Meta would not answer, in one sentence that names the setting to fix. */
export function refusalOf(error: GraphError, asked: Asked): Refusal {
  const { code, words } = error
  const meaning = meaningOfWhatsAppCloud(code)
  if (NO_SUCH_OBJECT.includes(code)) {
    return notProven(
      `Meta knows no ${OBJECTS[asked]} with this ${asked} that the access token may see: check ${asked}, and that the system user of the token was given that ${OBJECTS[asked]}.`,
      asked,
    )
  }
  if (NO_SUCH_VERSION.includes(code))
    return notProven(
      'Meta no longer speaks, or does not know, this graph_version: leave it out to use the usual one.',
      'graph_version',
    )
  if (code === 0 || code === 190)
    return notProven(
      'Meta rejects the access_token: it is mistyped, has expired or was withdrawn, so make a new one for the system user.',
      'access_token',
    )
  if (meaning?.class === 'auth')
    return notProven(
      `The access_token lacks a permission: give its system user the ${OBJECTS[asked]} and the permission ${PERMISSIONS[asked]}, then make a new token.`,
      'access_token',
    )
  if (meaning?.class === 'transient' || meaning?.class === 'rate')
    return new Refusal(
      'network_unreachable',
      `Meta could not answer just now, so nothing was changed; try again. It says: ${words}`,
    )
  if (meaning) return notProven(`${fillText(meaning.cause, {})} ${fillText(meaning.nextStep, {})}`, null)
  return notProven(`Meta does not show the ${OBJECTS[asked]} of ${asked}. It says: ${words}`, asked)
}

/** There was no answer, or none that the Graph API gives. */
export function refusalWithoutAnswer(answer: GraphAnswer): Refusal {
  const said =
    answer.kind === 'answered' ? `it answered with HTTP ${answer.status} and not as the Graph API does` : answer.words
  return new Refusal(
    'network_unreachable',
    `Meta could not be asked, so nothing was changed: ${said}. Check that this machine reaches it (name resolution, firewall, NUNCIO_WHATSAPP_CLOUD_URL), then try again.`,
  )
}

function notProven(sentence: string, field: string | null): Refusal {
  return new Refusal('connection_not_proven', sentence, field)
}
