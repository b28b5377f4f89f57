import { ActionIcon, useMantineColorScheme } from '@mantine/core'
import { Monitor, Moon, Sun } from 'lucide-react'
import { Hint } from '../components/hint.tsx'

const SCHEMES = {
  auto: { label: 'as the system', icon: Monitor, next: 'light' },
  light: { label: 'light', icon: Sun, next: 'dark' },
  dark: { label: 'dark', icon: Moon, next: 'auto' },
} as const

/** Goes round: as the system, light, dark. */
export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const { label, icon: Icon, next } = SCHEMES[colorScheme]
  const words = `Colours: ${label}. Change to ${SCHEMES[next].label}`
  return (
    <Hint<HTMLButtonElement> label={words}>
      {(spot) => (
        <ActionIcon {...spot} variant="default" size="lg" aria-label={words} onClick={() => setColorScheme(next)}>
          <Icon size={18} aria-hidden />
        </ActionIcon>
      )}
    </Hint>
  )
}
