import { curlOf, type TriedCall } from './curl-of.ts'

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
  const showExample = () => {
    body.value = type.selectedOptions[0]?.dataset['body'] ?? ''
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
  showExample()
  showCurl()
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
    find('[data-try-answer]').hidden = false
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    status.textContent = `No answer came (${words}). Is the service still running? A header may also hold characters that no header can.`
  }
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
