import { ActionIcon, Button, Group, Menu, Modal, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { Bookmark } from 'lucide-react'
import { type SubmitEvent, useState } from 'react'
import { useAccount } from '../../components/account.tsx'
import { parseSearch, stringifySearch } from '../../components/search-state.ts'
import { useStoredSetting } from '../../components/stored-setting.ts'
import type { LogSearch } from './log-search.ts'
import { type SavedView, withView } from './saved-view.ts'

/** Filters under a name, in this browser. */
export function SavedViews({ search }: { readonly search: LogSearch }) {
  const { id: account } = useAccount()
  const navigate = useNavigate()
  const [views, keep] = useStoredSetting<readonly SavedView[]>(`log-views.${account}`, [])
  const [isNaming, setNaming] = useState(false)
  const here = stringifySearch(search.view === 'all' ? { ...search, view: undefined } : search)
  const current = views.find((view) => view.search === here)
  const open = (view: SavedView) =>
    void navigate({ to: '/a/$account/developer/logs', params: { account }, search: parseSearch(view.search) as never })
  return (
    <>
      <Menu position="bottom-end" width={240}>
        <Menu.Target>
          <ActionIcon variant="default" size={32} aria-label="Saved views" title="Saved views">
            <Bookmark size={16} fill={current ? 'currentColor' : 'none'} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map((view) => (
            <Menu.Item key={view.name} onClick={() => open(view)}>
              {view.name}
            </Menu.Item>
          ))}
          {views.length > 0 ? <Menu.Divider /> : null}
          {current ? (
            <Menu.Item onClick={() => keep(views.filter((view) => view !== current))}>
              Remove “{current.name}”
            </Menu.Item>
          ) : (
            <Menu.Item onClick={() => setNaming(true)}>Save these filters…</Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={isNaming}
        onClose={() => setNaming(false)}
        title="Save these filters"
        centered
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <NameForm
          onName={(name) => {
            keep(withView(views, { name, search: here }))
            setNaming(false)
          }}
        />
      </Modal>
    </>
  )
}

function NameForm({ onName }: { readonly onName: (name: string) => void }) {
  const [name, setName] = useState('')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (name.trim() !== '') onName(name.trim())
  }
  return (
    <form onSubmit={submit} noValidate>
      <TextInput
        label="Name"
        description="Kept in this browser. To show it to others, copy the link to the list."
        data-autofocus
        maxLength={40}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Group justify="flex-end" mt="md">
        <Button type="submit" disabled={name.trim() === ''}>
          Save
        </Button>
      </Group>
    </form>
  )
}
