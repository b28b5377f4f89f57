export type Encoding = 'br' | 'gzip' | 'identity'

const BEST_FIRST = ['br', 'gzip'] as const

/** The smallest form that the browser understands. */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const offers = (accepted ?? '').toLowerCase().split(',').map(parseOffer)
  return BEST_FIRST.find((encoding) => offers.some(({ name, isWanted }) => name === encoding && isWanted)) ?? 'identity'
}

function parseOffer(offer: string) {
  const [name = '', ...parameters] = offer.split(';').map((part) => part.trim())
  return { name, isWanted: !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) }
}
