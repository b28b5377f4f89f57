import { Fragment } from 'react'

/** A name or a URL that does not fit is broken after a dot or a slash, and not inside a word. */
export function Breakable({ text }: { readonly text: string }) {
  return text.split(/(?<=[./])(?![./])/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts may be equal, and they never move
    <Fragment key={at}>
      {part}
      <wbr />
    </Fragment>
  ))
}
