import { buildOpenApi } from '../../src/contract/openapi.ts'
import { documentedRefusals } from '../../src/http/server/refusal-replies.ts'
import { escapeHtml } from './escape-html.ts'

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      {
        readonly post: {
          readonly requestBody: {
            readonly content: Readonly<Record<string, { readonly examples: Readonly<Record<string, ExampleOf>> }>>
          }
        }
      }
    >
  >
  readonly components: { readonly parameters: { readonly IdempotencyKey: { readonly description: string } } }
}

interface ExampleOf {
  readonly summary: string
  readonly value: Readonly<Record<string, unknown>>
}

// The connection of the first start, so that a first try succeeds; the sandbox delivers to every recipient.
const FIRST_NUMBERS = { from: '15550001000', to: '15551234567' }

/** The form that tries a call, made from the examples in the OpenAPI document. */
export function makeTryForm(): string {
  const { paths } = buildOpenApi('', documentedRefusals()) as Document
  const [path = '', operation] = Object.entries(paths)[0] ?? []
  const examples = Object.entries(operation?.post.requestBody.content['application/json']?.examples ?? {})
  const options = examples.map(([type, { summary, value }]) => {
    const body = escapeHtml(JSON.stringify({ ...value, ...FIRST_NUMBERS }, null, 2))
    return `<option value="${type}" data-body="${body}">${escapeHtml(summary)}</option>`
  })
  return `<form class="try" data-try-call="${path}" aria-label="Try a call">
<p class="warning" role="alert" data-insecure hidden>This page came by plain http from another machine: others on the network can read your token. Open it by https before you put one in.</p>
<noscript><p class="warning">The form works with JavaScript only.</p></noscript>
<p>This sends a real message from this installation. The token stays in this page and is forgotten when you leave it.</p>
<label for="try-token">API token <input id="try-token" type="password" autocomplete="off" spellcheck="false" placeholder="nco_…"></label>
<label for="try-type">Example <select id="try-type">${options.join('')}</select></label>
<label for="try-key">Idempotency-Key <span>(may be left out)</span> <input id="try-key" maxlength="255" autocomplete="off" spellcheck="false"></label>
<label for="try-body">Body <textarea id="try-body" rows="11" spellcheck="false" autocomplete="off"></textarea></label>
<p><button type="submit">Send</button></p>
<div role="status" data-try-status></div>
<div data-try-answer hidden>
<p class="label">Headers of the answer</p>
<pre tabindex="0" role="group" aria-label="Headers of the answer"><code data-try-headers></code></pre>
<p class="label">Body of the answer</p>
<pre tabindex="0" role="group" aria-label="Body of the answer"><code data-try-reply></code></pre>
</div>
<p class="label">The same with curl</p>
<div class="code"><pre tabindex="0" role="group" aria-label="The same with curl"><code data-try-curl></code></pre></div>
</form>
`
}
