import { curlOf, type TriedCall } from './curl-of.ts'

/** The parts of the OpenAPI document that are read. */
interface Document {
  readonly paths: Readonly<Record<string, { readonly post: { readonly requestBody: { readonly content: Content } } }>>
}

type Content = Readonly<Record<string, { readonly examples: Readonly<Record<string, Example>> }>>

interface Example {
  readonly summary: string
  readonly value: object
}

// The connection of the first start, so that a first call succeeds.
const FIRST_NUMBERS = { from: '15550001000', to: '15551234567' }

/** The form that tries a call. The token is only in its field: it is neither stored nor in the curl command. */
const form = document.querySelector<HTMLFormElement>('[data-try-call]')
if (form) start(form)

function start(form: HTMLFormElement): void {
  const find = <Part extends HTMLElement>(selector: string) => {
    const part = form.querySelector<Part>(selector)
    if (!part) throw new Error(`The form has no ${selector}`)
    return part
  }
  const token = find<HTMLInputElement>('#try-token')
  const type = find<HTMLSelectElement>('#try-type')
  const key = find<HTMLInputElement>('#try-key')
  const body = find<HTMLTextAreaElement>('#try-body')
  const path = form.dataset['tryCall'] ?? ''
  const read = (): TriedCall => ({ url: new URL(path, location.href).href, key: key.value, body: body.value })

  find('[data-insecure]').hidden = isSecureContext
  let examples: Readonly<Record<string, Example>> = {}
  const showExample = () => {
    body.value = JSON.stringify({ ...examples[type.value]?.value, ...FIRST_NUMBERS }, null, 2)
  }
  const showCurl = () => {
    find('[data-try-curl]').textContent = curlOf(read())
  }
  // A browser that goes back to the page restores its fields, but must not restore the token.
  addEventListener('pagehide', () => {
    token.value = ''
  })
  type.addEventListener('change', () => {
    showExample()
    showCurl()
  })
  form.addEventListener('input', showCurl)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void send(read(), token.value.trim(), find)
  })
  loadExamples(form).then(
    (loaded) => {
      examples = loaded
      type.replaceChildren(...Object.entries(loaded).map(([name, { summary }]) => new Option(summary, name)))
      showExample()
      showCurl()
    },
    (error: unknown) => {
      find('[data-try-status]').textContent =
        `The examples could not be loaded (${messageOf(error)}). Load this page again.`
    },
  )
}

async function loadExamples({ dataset }: HTMLFormElement): Promise<Readonly<Record<string, Example>>> {
  const reply = await fetch(dataset['openapi'] ?? '', { credentials: 'omit' })
  if (!reply.ok) throw new Error(`HTTP ${reply.status}`)
  const { paths } = (await reply.json()) as Document
  return Object.values(paths)[0]?.post.requestBody.content['application/json']?.examples ?? {}
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

type Find = (selector: string) => HTMLElement

async function send(call: TriedCall, token: string, find: Find): Promise<void> {
  const status = find('[data-try-status]')
  status.textContent = 'Sending …'
  find('[data-try-answer]').hidden = true
  try {
    const startedAt = performance.now()
    const reply = await fetch(call.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { 'x-api-key': token }),
        ...(call.key !== '' && { 'idempotency-key': call.key }),
      },
      body: call.body,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
    })
    const text = await reply.text()
    const tookMs = Math.round(performance.now() - startedAt)
    status.textContent = `${reply.status} ${reply.statusText} after ${tookMs} ms`
    find('[data-try-headers]').textContent = [...reply.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    find('[data-try-reply]').textContent = indented(text)
    showLog(find, reply.headers.get('x-message-id'))
    find('[data-try-answer]').hidden = false
  } catch (error) {
    status.textContent = `No answer came (${messageOf(error)}). Is the service still running? A header may also hold characters that no header can.`
  }
}

/** A link to the message of the answer, if it has one. */
function showLog(find: Find, messageId: string | null): void {
  find('[data-try-log]').hidden = messageId === null
  const link = find('[data-try-log] a') as HTMLAnchorElement
  const { log = '' } = find('[data-try-log]').closest('form')?.dataset ?? {}
  link.href = `${log}${messageId ?? ''}`
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
