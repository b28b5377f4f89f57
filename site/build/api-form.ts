import { buildOpenApi } from '../../src/contract/openapi.ts'
import { documentedRefusals } from '../../src/http/server/refusal-replies.ts'

/** The form that tries a call. Its examples come from the OpenAPI document of the service, which knows its own address. */
export function makeTryForm(): string {
  const { paths } = buildOpenApi('', documentedRefusals()) as { readonly paths: object }
  const [path = ''] = Object.keys(paths)
  return `<form class="try" data-try-call="${path}" data-openapi="/openapi.json" data-log="/console/developer/logs/" aria-label="Try a call">
<p class="warning" role="alert" data-insecure hidden>This page came by plain http from another machine: others on the network can read your token. Open it by https before you put one in.</p>
<noscript><p class="warning">The form works with JavaScript only.</p></noscript>
<p>This sends a real message from this installation. The token stays in this page and is forgotten when you leave it.</p>
<label for="try-token">API token <input id="try-token" type="password" autocomplete="off" spellcheck="false" placeholder="nco_…"></label>
<label for="try-type">Example <select id="try-type"></select></label>
<label for="try-key">Idempotency-Key <span>(may be left out)</span> <input id="try-key" maxlength="255" autocomplete="off" spellcheck="false"></label>
<label for="try-body">Body <textarea id="try-body" rows="11" spellcheck="false" autocomplete="off"></textarea></label>
<p><button type="submit">Send</button></p>
<div role="status" data-try-status></div>
<div data-try-answer hidden>
<p data-try-log hidden><a target="_blank">The message in the API log</a>: what becomes of it.</p>
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
