import assert from 'node:assert/strict'
import { DEFAULT_THEME, mergeMantineTheme } from '@mantine/core'
import { describe, it } from 'vitest'
import { resolveVariables, STATE_GROUPS, theme } from '../../console/app/theme.ts'

const CARDS = { light: '#ffffff', dark: '#1b1e25' } as const
const FIELDS = { light: '#ffffff', dark: '#242831' } as const

describe.each(Object.entries(STATE_GROUPS))('the colours of the states that are %s', (_, group) => {
  it.each(['light', 'dark'] as const)('are readable in the %s scheme', (scheme) => {
    const [text = '', ground = '', solid = ''] = group[scheme].split(' ')

    assert.ok(contrast(text, CARDS[scheme]) >= 4.5, 'text on a card')
    assert.ok(contrast(text, ground) >= 4.5, 'text on its ground')
    assert.ok(contrast(solid, CARDS[scheme]) >= 3, 'a bar on a card')
  })
})

// Fields, checkboxes, radio buttons and switches have this border (WCAG 1.4.11).
describe('the border of what can be changed', () => {
  it.each(['light', 'dark'] as const)('can be seen on a card and on the page in the %s scheme', (scheme) => {
    const { [scheme]: tokens } = resolveVariables(mergeMantineTheme(DEFAULT_THEME, theme))
    const border = tokens['--nc-field-border'] ?? ''

    for (const ground of [CARDS[scheme], tokens['--nc-page'] ?? ''])
      assert.ok(contrast(border, ground) >= 3, `${border} on ${ground}`)
  })
})

// A field shows its focus only by this border. The border is also seen against the ground of a field.
describe('the border of a field that has the focus', () => {
  it.each(['light', 'dark'] as const)(
    'can be seen on a card, on the page and on a field in the %s scheme',
    (scheme) => {
      const { [scheme]: tokens } = resolveVariables(mergeMantineTheme(DEFAULT_THEME, theme))
      const border = tokens['--nc-focus'] ?? ''

      for (const ground of [CARDS[scheme], tokens['--nc-page'] ?? '', FIELDS[scheme]])
        assert.ok(contrast(border, ground) >= 3, `${border} on ${ground}`)
    },
  )
})

/** The contrast as WCAG defines it. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
