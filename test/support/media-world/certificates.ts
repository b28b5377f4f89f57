import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { parseIpAddress } from '../../../src/core/media-address/ip-address.ts'

export interface Certificate {
  /** As PEM. The certificate is self-signed, so it is its own authority. */
  readonly cert: string
  readonly key: string
}

export interface CertificateWish {
  readonly names?: readonly string[]
  readonly addresses?: readonly string[]
  /** These two as `YYMMDDhhmmssZ`. */
  readonly validFrom?: string
  readonly validUntil?: string
}

/** Creates a certificate on the spot, so that none in the repository can expire and no program has to be installed. */
export function makeCertificate(wish: CertificateWish): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'))
  const name = sequence(tagged(0x31, sequence(objectId('550403'), tagged(0x0c, Buffer.from('nuncio test')))))
  const validity = sequence(
    tagged(0x17, Buffer.from(wish.validFrom ?? '200101000000Z')),
    tagged(0x17, Buffer.from(wish.validUntil ?? '490101000000Z')),
  )
  const alternativeNames = sequence(
    ...(wish.names ?? []).map((host) => tagged(0x82, Buffer.from(host))),
    ...(wish.addresses ?? []).map((address) => tagged(0x87, addressBytes(address))),
  )
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(
      0xa3,
      sequence(
        sequence(objectId('551d11'), tagged(0x04, alternativeNames)),
        sequence(objectId('551d13'), tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff]))))),
      ),
    ),
  )
  const signature = sign('sha256', body, privateKey)
  const der = sequence(body, ecdsaWithSha256, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])))
  const base64 = (der.toString('base64').match(/.{1,64}/g) ?? []).join('\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts)
}

function objectId(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

function addressBytes(text: string): Buffer {
  const words = parseIpAddress(text)?.words ?? []
  return Buffer.from(words.map((word) => word.toString(16).padStart(8, '0')).join(''), 'hex')
}
