import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

interface QrLibrary {
  readonly renderUnicodeCompact: (text: string, options: { readonly border: number }) => string
}

/** A QR code in half blocks, light on dark: for terminals. `folder`: where the packages of the channel are installed. */
export async function drawQr(folder: string, text: string): Promise<string> {
  const { renderUnicodeCompact } = (await import(
    pathToFileURL(join(folder, 'node_modules/uqr/dist/index.mjs')).href
  )) as QrLibrary
  return `${renderUnicodeCompact(text, { border: 2 })}\n`
}
