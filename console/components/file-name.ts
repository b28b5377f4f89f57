import { checkName } from '../../src/contract/field-rules.ts'
import { SAMPLES, SAMPLES_PATH } from '../../src/contract/samples.ts'

/** The sample at the service with this endpoint. A caption of another file does not fit it. */
export function sampleOf(
  type: keyof typeof SAMPLES,
  endpoint: string,
): { readonly url: string; readonly name: string; readonly caption: '' } {
  const name = SAMPLES[type]
  return { url: endpoint.replace(/\/chat\/api\/.*$/, `${SAMPLES_PATH}/${name}`), name, caption: '' }
}

/** The name of the file at the end of an address; empty when there is none that could be sent. */
function fileNameIn(address: string): string {
  const path = URL.parse(address)?.pathname ?? ''
  const last = path.slice(path.lastIndexOf('/') + 1)
  try {
    const name = decodeURIComponent(last)
    return checkName(name) === null ? name : ''
  } catch {
    return ''
  }
}

/** The draft with another address. The name follows it until a person writes one. */
export function withAddress<Of extends { readonly url: string; readonly name: string }>(draft: Of, url: string): Of {
  const isOwn = draft.name !== '' && draft.name !== fileNameIn(draft.url)
  return { ...draft, url, name: isOwn ? draft.name : fileNameIn(url) }
}
