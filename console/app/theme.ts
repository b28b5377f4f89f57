import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core'

const shades = (ten: string) => ten.split(' ').map((shade) => `#${shade}`) as unknown as MantineColorsTuple

/** Mantine's default colours miss the contrast of WCAG AA in many places. These were measured on every variant, light and dark. */
export const theme = createTheme({
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
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
  },
})

export const resolveVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-error': colors.red[9],
    // Mantine's default is so dark that the active link is hard to read under the pointer.
    '--mantine-color-indigo-light-hover': '#ccd6ff',
  },
  dark: { '--mantine-color-dimmed': colors.dark[1], '--mantine-color-error': colors.red[4] },
})
