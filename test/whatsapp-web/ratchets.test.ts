import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { beforeAll, describe, it } from 'vitest'
import { type KeyStore, loadLibrary, SILENT_LOGGER } from '../../src/channels/whatsapp-web/thread/library.ts'
import { durableRepository } from '../../src/channels/whatsapp-web/thread/signal-repository.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import {
  type Credentials,
  LIBRARY_FOLDER,
  loadLibrary as loadWholeLibrary,
  type SignalRepository,
  type WhatsAppLibrary,
  whyNoLibrary,
} from '../support/whatsapp-web/library.ts'

const REASON = whyNoLibrary()
const STORED_AFTER_MS = 2
const ANNA = { number: '15550001001', lid: '915550001001' }
const BEN = { number: '15550001002', lid: '915550001002' }

type Person = typeof ANNA
type Sealed = Awaited<ReturnType<SignalRepository['encryptMessage']>>

let whole: WhatsAppLibrary

describe.skipIf(REASON)(`the encrypted session with a person${skipNote(REASON)}`, () => {
  beforeAll(async () => {
    whole = await loadWholeLibrary()
  })

  it('continues when a message is written by number while another comes by LID', async () => {
    const [anna, ben] = [await open(), await open()]
    await begin(anna, ben)
    const texts: string[] = []

    for (let turn = 0; turn < 6; turn += 1) {
      // Its message starts a new ratchet. The second one then is a step of that same ratchet.
      texts.push(await anna.decrypt(byLid(BEN), await ben.encrypt(byLid(ANNA), `answer ${turn}`)))
      const second = await ben.encrypt(byLid(ANNA), `second ${turn}`)
      const writing = anna.encrypt(byNumber(BEN), `text ${turn}`)
      // In every other turn the other side begins first.
      if (turn % 2 === 0) await setTimeout(1)
      const [sealed, answered] = await Promise.all([writing, anna.decrypt(byLid(BEN), second)])
      texts.push(answered, await ben.decrypt(byLid(ANNA), sealed))
      texts.push(await ben.decrypt(byLid(ANNA), await anna.encrypt(byLid(BEN), `and ${turn}`)))
    }

    assert.deepEqual(
      texts,
      [0, 1, 2, 3, 4, 5].flatMap((turn) => [`answer ${turn}`, `second ${turn}`, `text ${turn}`, `and ${turn}`]),
    )
  })

  it('stays deleted when its device is removed while a message is written', async () => {
    const [anna, ben] = [await open(), await open()]
    await begin(anna, ben)

    const writing = anna.encrypt(byNumber(BEN), 'text')
    await setTimeout(STORED_AFTER_MS)
    await Promise.all([writing, anna.repository.deleteSession([byLid(BEN)])])

    assert.deepEqual(await anna.keys.get('session', [`${BEN.lid}_1.0`]), {})
  })
})

async function open() {
  const library = await loadLibrary(LIBRARY_FOLDER)
  const creds = whole.initAuthCreds()
  const keys = slowKeys()
  for (const { number, lid } of [ANNA, BEN])
    await keys.set({ 'lid-mapping': { [number]: lid, [`${lid}_reverse`]: number } })
  const make = durableRepository(library, { keys, onEncrypted: async () => {} })
  const repository = make({ creds, keys: keys as never }, SILENT_LOGGER, async () => [])
  const ofTests = repository as unknown as SignalRepository
  return {
    creds,
    keys,
    repository,
    encrypt: (jid: string, text: string) => ofTests.encryptMessage({ jid, data: Buffer.from(text) }),
    decrypt: async (jid: string, { type, ciphertext }: Sealed) =>
      Buffer.from(await ofTests.decryptMessage({ jid, type, ciphertext })).toString(),
  }
}

type Side = Awaited<ReturnType<typeof open>>

/** Lets both write to each other, so that each further message steps the ratchet. */
async function begin(anna: Side, ben: Side): Promise<void> {
  await anna.repository.injectE2ESession({ jid: byLid(BEN), session: bundleOf(ben.creds) })
  await ben.decrypt(byLid(ANNA), await anna.encrypt(byLid(BEN), 'first'))
  await anna.decrypt(byLid(BEN), await ben.encrypt(byLid(ANNA), 'second'))
}

function bundleOf({ registrationId, signedIdentityKey, signedPreKey }: Credentials) {
  const typed = (key: Uint8Array) => Buffer.concat([Buffer.from([5]), key])
  const { keyId, keyPair, signature } = signedPreKey
  return {
    registrationId,
    identityKey: typed(signedIdentityKey.public),
    signedPreKey: { keyId, publicKey: typed(keyPair.public), signature },
  }
}

function byNumber({ number }: Person): string {
  return `${number}@s.whatsapp.net`
}

function byLid({ lid }: Person): string {
  return `${lid}@lid`
}

/** Keys in memory that are as slow as a database. */
function slowKeys(): KeyStore {
  const rows = new Map<string, unknown>()
  return {
    async get(kind, ids) {
      await setTimeout(STORED_AFTER_MS)
      const found = ids.map((id) => [id, rows.get(`${kind}/${id}`)] as const)
      return Object.fromEntries(found.filter(([, value]) => value !== undefined))
    },
    async set(changes) {
      await setTimeout(STORED_AFTER_MS)
      for (const [kind, values] of Object.entries(changes))
        for (const [id, value] of Object.entries(values))
          if (value === null) rows.delete(`${kind}/${id}`)
          else rows.set(`${kind}/${id}`, value)
    },
  }
}
