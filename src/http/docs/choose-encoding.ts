export type Encoding = 'br' | 'identity'

/** Brotli where the client accepts it, as every current browser does; otherwise the plain file. */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const offers = (accepted ?? '').toLowerCase().split(',').map(parseOffer)
  return offers.some(({ name, isWanted }) => name === 'br' && isWanted) ? 'br' : 'identity'
}

function parseOffer(offer: string) {
  const [name = '', ...parameters] = offer.split(';').map((part) => part.trim())
  return { name, isWanted: !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) }
}
