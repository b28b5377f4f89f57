// Without the types of `vite/client`, which would bring those of a browser, too.
declare module '*.module.css'
