// Sends a text and a document. Needs API_URL, NUNCIO_TOKEN, FROM, TO, DOCUMENT_URL and ORDER in the environment.
import { createClient, type Message, NuncioRefusal, NuncioUnreachable } from '@nuncio/client'

const { API_URL = '', NUNCIO_TOKEN = '', FROM: from = '', TO: to = '', DOCUMENT_URL = '', ORDER = '' } = process.env
const client = createClient({ url: API_URL, token: NUNCIO_TOKEN })

// The key belongs to what happened, not to the try: running this again for the same order sends nothing twice.
async function send(idempotencyKey: string, message: Message): Promise<void> {
  try {
    const { messageId } = await client.send(message, { idempotencyKey })
    console.log(`${idempotencyKey}: accepted as ${messageId}`)
  } catch (error) {
    if (error instanceof NuncioRefusal) {
      for (const { field, code, message: why } of error.fields) {
        console.error(`${idempotencyKey}: refused: ${field ?? 'request'} ${code}: ${why}`)
      }
    } else if (error instanceof NuncioUnreachable) {
      console.error(`${idempotencyKey}: nobody knows; run this again`)
    }
    throw error
  }
}

await send(`order-${ORDER}-text`, { from, to, text: 'Your order is on its way.' })
await send(`order-${ORDER}-invoice`, {
  from,
  to,
  document: { url: DOCUMENT_URL, name: 'invoice.pdf', caption: 'Your invoice' },
})
