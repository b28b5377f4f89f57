import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const shades = (ten: string) => ten.split(' ').map((shade) => `#${shade}`) as unknown as MantineColorsTuple

/** Mantine's default colours miss the contrast of WCAG AA in many places. These were measured on every variant, light and dark. */
export const theme = createTheme({
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  lineHeights: { xs: '1.3333', sm: '1.5385', md: '1.4286', lg: '1.5', xl: '1.4' },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  radius: { sm: '4px', md: '8px' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '20px', lineHeight: '1.4', fontWeight: '650' },
      h2: { fontSize: '14px', lineHeight: '1.4286' },
      h3: { fontSize: '13px', lineHeight: '1.5385' },
    },
  },
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  autoContrast: true,
  // White text is readable up to this shade. Black text on a red button is not, once the button darkens under the pointer.
  luminanceThreshold: 0.183,
  defaultRadius: 'md',
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    // Scroll areas must be reachable by keyboard. Not `ScrollArea.extend`, which would load the component with the first view.
    ScrollArea: { defaultProps: { viewportProps: { tabIndex: 0 } } },
    // They are `<header>`s, which outside an article count as a second banner of the page.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    DrawerHeader: { defaultProps: { role: 'presentation' } },
    // At the end of the page they would be in no landmark. The placeholder would be a focus stop, which a menu may not have.
    Menu: { defaultProps: { withinPortal: false, floatingStrategy: 'fixed', withInitialFocusPlaceholder: false } },
    // Otherwise the header of a dialog counts as a second banner of the page.
    Modal: { defaultProps: { attributes: { header: { role: 'presentation' } } } },
    Drawer: { defaultProps: { attributes: { header: { role: 'presentation' } } } },
  },
  colors: {
    green: shades('f0fdf4 dcfce7 bbf7d0 86efac 4ade80 22c55e 16a34a 15803d 166534 14532d'),
    teal: shades('f0fdfa ccfbf1 99f6e4 5eead4 2dd4bf 14b8a6 0d9488 0f766e 115e59 134e4a'),
    orange: shades('fff7ed ffedd5 fed7aa fdba74 fb923c f97316 ea580c c2410c 9a3412 7c2d12'),
    yellow: shades('fffbeb fef3c7 fde68a fcd34d fbbf24 f59e0b d97706 b45309 92400e 78350f'),
    // Page, card and field are three visible steps: 8, 7 and 6.
    dark: shades('d5d9e0 a9b0bd 8a919f 6b7280 3b414d 2e333d 242831 1b1e25 13151a 0d0f12'),
  },
})

/**
 * The groups of states. Of each, light and then dark: the text, its ground, and what is filled, such as bars and dots.
 * Blue moves by itself, amber needs a person. Badges, charts and legends use the same.
 * The name of Mantine's colour whose light variant gets the same colours.
 */
export const STATE_GROUPS = {
  sent: { alias: 'green', light: '#166534 #dcfce7 #16a34a', dark: '#86efac #17301f #15803d' },
  moving: { alias: 'blue', light: '#1864ab #e7f5ff #228be6', dark: '#74c0fc #16283a #4dabf7' },
  attend: { alias: 'yellow', light: '#92400e #fef3c7 #d97706', dark: '#fcd34d #35270c #f59e0b' },
  notsent: { alias: 'red', light: '#b02525 #ffe3e3 #e03131', dark: '#ffa8a8 #3d1a1d #ff6b6b' },
  refused: { alias: 'violet', light: '#5f3dc4 #f3f0ff #7950f2', dark: '#b197fc #282042 #9775fa' },
  closed: { alias: 'gray', light: '#495057 #f1f3f5 #868e96', dark: '#a9b0bd #242831 #6b7280' },
} as const

export type StateGroup = keyof typeof STATE_GROUPS

export const resolveVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    ...groupVariables('light'),
    '--mantine-color-text': colors.gray[9],
    '--mantine-color-bright': '#0f1216',
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-placeholder': colors.gray[7],
    '--mantine-color-anchor': colors.indigo[8],
    '--mantine-color-error': '#b02525',
    '--mantine-color-default-border': colors.gray[3],
    '--mantine-color-indigo-light': '#edf2ff',
    '--mantine-color-indigo-light-color': colors.indigo[9],
    // Mantine's default is so dark that the active link is hard to read under the pointer.
    '--mantine-color-indigo-light-hover': '#ccd6ff',
    '--nc-page': colors.gray[0],
    '--nc-sunken': colors.gray[1],
    '--nc-hover': colors.gray[1],
    '--nc-field-border': colors.gray[6],
    '--nc-focus': colors.indigo[8],
    '--nc-row-border': colors.gray[2],
  },
  dark: {
    ...groupVariables('dark'),
    '--mantine-color-text': colors.dark[0],
    '--mantine-color-dimmed': colors.dark[1],
    '--mantine-color-placeholder': colors.dark[1],
    '--mantine-color-anchor': '#91a7ff',
    '--mantine-color-error': '#ffa8a8',
    '--mantine-color-default-border': colors.dark[5],
    '--mantine-color-indigo-light': '#232b4a',
    '--mantine-color-indigo-light-color': '#bac8ff',
    '--mantine-color-indigo-light-hover': '#2a3459',
    '--nc-page': colors.dark[8],
    '--nc-sunken': colors.dark[8],
    '--nc-hover': colors.dark[6],
    '--nc-field-border': colors.dark[3],
    // The primary colour is too dark to be seen around something.
    '--nc-focus': colors.indigo[5],
    '--nc-row-border': colors.dark[6],
  },
})

function groupVariables(scheme: 'light' | 'dark'): Record<string, string> {
  return Object.fromEntries(
    Object.entries(STATE_GROUPS).flatMap(([group, { alias, [scheme]: colours }]) => {
      const [text = '', ground = '', solid = ''] = colours.split(' ')
      return [
        [`--nc-${group}-fg`, text],
        [`--nc-${group}-bg`, ground],
        [`--nc-${group}-solid`, solid],
        [`--mantine-color-${alias}-light`, ground],
        [`--mantine-color-${alias}-light-color`, text],
      ]
    }),
  )
}
