// Not from the types of `vite/client`, which would also add those of a browser.
declare module '*.module.css'
