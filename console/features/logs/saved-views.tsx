import { ActionIcon } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Bookmark } from 'lucide-react'
import { Suspense, useState } from 'react'
import { useAccount } from '../../components/account.tsx'
import { lazily } from '../../components/load-later.ts'
import { MenuButton } from '../../components/menu-button.tsx'
import { parseSearch, stringifySearch } from '../../components/search-state.ts'
import { useStoredSetting } from '../../components/stored-setting.ts'
import type { LogSearch } from './log-search.ts'
import { type SavedView, withView } from './saved-view.ts'

const SaveViewDialog = lazily(async () => (await import('./save-view-dialog.tsx')).SaveViewDialog)

/** Filters under a name, in this browser. */
export function SavedViews({ search }: { readonly search: LogSearch }) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const [views, keep] = useStoredSetting<readonly SavedView[]>(`log-views.${account}`, [])
  // Null: it was never asked for.
  const [isNaming, setNaming] = useState<boolean | null>(null)
  const here = stringifySearch(search.view === 'all' ? { ...search, view: undefined } : search)
  const current = views.find((view) => view.search === here)
  const open = (view: SavedView) =>
    void navigate({ to: '/a/$account/developer/logs', params: { account }, search: parseSearch(view.search) as never })
  return (
    <>
      <MenuButton
        button={
          <ActionIcon variant="default" size={32} aria-label="Saved views" title="Saved views">
            <Bookmark size={16} fill={current ? 'currentColor' : 'none'} aria-hidden />
          </ActionIcon>
        }
        entries={[
          ...views.map((view) => ({ label: view.name, onClick: () => open(view) })),
          current
            ? {
                label: `Remove “${current.name}”`,
                isApart: true,
                onClick: () => keep(views.filter((view) => view !== current)),
              }
            : { label: 'Save these filters…', isApart: views.length > 0, onClick: () => setNaming(true) },
        ]}
      />
      {isNaming === null ? null : (
        <Suspense>
          <SaveViewDialog
            isOpen={isNaming}
            onClose={() => setNaming(false)}
            onName={(name) => {
              keep(withView(views, { name, search: here }))
              setNaming(false)
            }}
          />
        </Suspense>
      )}
    </>
  )
}
