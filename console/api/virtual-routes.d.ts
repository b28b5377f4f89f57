// Made by console/build/console-route-table.ts from src/contract/console/routes.ts.
declare module 'virtual:console-routes' {
  export const ROUTES: Readonly<
    Record<string, { readonly method: string; readonly path: string; readonly access: string }>
  >
}
