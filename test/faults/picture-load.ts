import { createHash, randomBytes } from 'node:crypto'
import { Load, type Special } from '../support/black-box/load.ts'
import type { Random } from '../support/black-box/random.ts'
import type { SendClient } from '../support/black-box/send-client.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'

const SHARE_OF_PICTURES = 0.2

export interface LoadPlan {
  readonly client: Pick<SendClient, 'send'>
  readonly connections: readonly string[]
  readonly seed: number
}

interface Pictures {
  /** How many different pictures. */
  readonly count: number
  readonly bytes: number
  readonly pauseMs: number
}

/** A load of texts, and of pictures that the service has to fetch and upload. */
export async function makePictureLoad(plan: LoadPlan, { count, bytes, pauseMs }: Pictures): Promise<Load> {
  const files = Array.from({ length: count }, () => Buffer.concat([tinyPng(), randomBytes(bytes)]))
  const host = await serveFiles(
    Object.fromEntries(files.map((body, place) => [`/${place}.png`, { body, type: 'image/png' }])),
  )
  let pictures = 0
  const instead = (connection: string, random: Random): Special | undefined => {
    if (random.next() >= SHARE_OF_PICTURES) return undefined
    const place = random.between(0, count - 1)
    pictures += 1
    const caption = `${connection} é 🙂 ${pictures}`
    return {
      message: { type: 'image', media: { name: `${place}.png`, url: `${host}/${place}.png`, caption } },
      content: { type: 'image', text: null, caption, sha256: sha256(files[place]!), sizeBytes: files[place]!.length },
    }
  }
  return new Load({ ...plan, pauseMs, keyedShare: 1, textLength: 1_000, instead })
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
