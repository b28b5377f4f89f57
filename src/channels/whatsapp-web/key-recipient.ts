/** WhatsApp's own ids of people, which are no numbers, lead to the number by this entry of the library's. */
const MAPPING_KIND = 'lid-mapping'
const TO_NUMBER = '_reverse'
// The address of an encrypted session: `USER_1.DEVICE` is of an id of WhatsApp's own, `NUMBER.DEVICE` of a number.
const ADDRESS = /^(\d+)(_\d+)?\.\d+$/

interface KeyPlace {
  readonly kind: string
  readonly id: string
}

/** The person that a key of the library is about: by number, or by WhatsApp's own id; null when it is about none. */
export function personOf({ kind, id }: KeyPlace): { readonly number: string } | { readonly lid: string } | null {
  switch (kind) {
    case 'session':
    case 'identity-key': {
      const [, user, domain] = ADDRESS.exec(id) ?? []
      if (user === undefined) return null
      return domain === undefined ? { number: user } : { lid: user }
    }
    case MAPPING_KIND:
      return id.endsWith(TO_NUMBER) ? { lid: id.slice(0, -TO_NUMBER.length) } : { number: id }
    case 'tctoken': {
      const [user = '', server] = id.split(/:\d+@|@/)
      if (server === undefined) return null
      return server === 'lid' ? { lid: user } : { number: user }
    }
    case 'device-list':
    case 'devices':
      return { lid: id }
    case 'recipient':
      return { number: id }
    default:
      return null
  }
}

/** Where the library keeps the number of one of WhatsApp's own ids. */
export function mappingOf(lid: string): KeyPlace {
  return { kind: MAPPING_KIND, id: `${lid}${TO_NUMBER}` }
}
