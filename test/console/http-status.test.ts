import assert from 'node:assert/strict'
import { HeadlessMantineProvider } from '@mantine/core'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, it } from 'vitest'
import { HttpStatus } from '../../console/components/http-status.tsx'

// The state of a message says whether it was sent, so no status has the colour of a state.
describe('the HTTP status of a request', () => {
  it.each([
    [200, 'color:var(--mantine-color-dimmed)'],
    [400, 'font-weight:600'],
    [429, 'font-weight:600'],
    [503, 'font-weight:600'],
  ])('%i has the style %s', (status, style) => {
    const shown = createElement(HttpStatus, { status })
    const html = renderToStaticMarkup(createElement(HeadlessMantineProvider, null, shown))

    const styles = /style="([^"]*)"/.exec(html)?.[1]?.split(';') ?? []
    assert.deepEqual(
      styles.filter((one) => /^(color|background|font-weight)/.test(one)),
      [style],
    )
  })
})
