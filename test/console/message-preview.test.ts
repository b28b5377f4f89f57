import assert from 'node:assert/strict'
import { HeadlessMantineProvider } from '@mantine/core'
import { createElement, type ReactNode } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, it } from 'vitest'
import { FileName, MessagePreview } from '../../console/components/message-preview.tsx'

const TYPES = ['message', 'image', 'document', 'video', 'audio'] as const

describe('the icon of a message', () => {
  it('shows its type, and is the same before the name of its file', () => {
    const inLists = TYPES.map((type) => iconIn(createElement(MessagePreview, { type, preview: null })))
    const beforeNames = TYPES.map((type) => iconIn(createElement(FileName, { type, name: 'menu.jpg' })))

    assert.equal(new Set(inLists).size, TYPES.length)
    assert.deepEqual(beforeNames, inLists)
  })
})

/** The name of the icon in its library. */
function iconIn(element: ReactNode): string | undefined {
  return /lucide-([\w-]+)/.exec(renderToStaticMarkup(createElement(HeadlessMantineProvider, null, element)))?.[1]
}
