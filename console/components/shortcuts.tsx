import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { lazily } from './load-later.ts'
import { useShortcutSetting } from './stored-setting.ts'
import { useLive } from './use-live.ts'

const Palette = lazily(async () => (await import('../features/palette/palette.tsx')).Palette)
const ShortcutHelp = lazily(async () => (await import('./shortcut-help.tsx')).ShortcutHelp)

/** `g`, then one of these. */
const PLACES = {
  o: '/a/$account',
  t: '/a/$account/developer/tokens',
  l: '/a/$account/developer/logs',
  c: '/a/$account/connections',
  s: '/a/$account/sandbox',
} as const

const SECOND_KEY_WITHIN_MS = 1_500

interface ShortcutsProps {
  readonly account: string | null
  readonly children: (open: { readonly help: () => void; readonly palette: () => void }) => ReactNode
}

/** The shortcuts of all pages. A page marks its elements with `data-filters`, `data-row-link` and `data-copy-id`. */
export function Shortcuts({ account, children }: ShortcutsProps) {
  const [opened, setOpened] = useState<'help' | 'palette' | null>(null)
  const close = () => setOpened(null)
  useKeys(account, () => setOpened('help'))
  usePaletteKey(account === null ? null : () => setOpened('palette'))
  return (
    <>
      {children({ help: () => setOpened('help'), palette: () => setOpened('palette') })}
      {opened === null ? null : (
        <Suspense>{opened === 'help' ? <ShortcutHelp onClose={close} /> : <Palette onClose={close} />}</Suspense>
      )}
    </>
  )
}

/** Ctrl+K or Cmd+K, also while typing, and for people who turned single keys off. */
function usePaletteKey(open: (() => void) | null): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isPalette = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k' && !event.shiftKey
      if (!isPalette || open === null || document.querySelector('[role="dialog"]')) return
      event.preventDefault()
      open()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [open])
}

function useKeys(account: string | null, openHelp: () => void): void {
  const [isOn] = useShortcutSetting()
  const navigate = useNavigate()
  const { toggle } = useLive()
  const goAt = useRef(0)
  useEffect(() => {
    const go = (key: string) => {
      goAt.current = 0
      if (account && key in PLACES) void navigate({ to: PLACES[key as keyof typeof PLACES], params: { account } })
    }
    const acts: Readonly<Record<string, () => void>> = {
      '?': openHelp,
      g: () => {
        goAt.current = Date.now()
      },
      '/': focusFilters,
      f: openFilters,
      j: () => walkRows(1),
      k: () => walkRows(-1),
      c: () => document.querySelector<HTMLElement>('main [data-copy-id]')?.click(),
      '.': toggle,
    }
    const onKey = (event: KeyboardEvent) => {
      if (!isOn || isTyping(event) || document.querySelector('[role="dialog"]')) return
      const isSecond = Date.now() - goAt.current < SECOND_KEY_WITHIN_MS
      const act = isSecond ? () => go(event.key) : acts[event.key]
      if (!act) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [account, isOn, navigate, openHelp, toggle])
}

function isTyping(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true
  const { target } = event
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches('input, textarea, select, [role="textbox"]'))
  )
}

function focusFilters(): void {
  document.querySelector<HTMLElement>('[data-filters] :is(input, button)')?.focus()
}

function openFilters(): void {
  const button = document.querySelector<HTMLElement>('[data-open-filters]')
  if (button) button.click()
  else focusFilters()
}

function walkRows(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('[data-row-link]')]
  const here = links.indexOf(document.activeElement as HTMLElement)
  const next = links[here < 0 ? (step === 1 ? 0 : links.length - 1) : here + step]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
