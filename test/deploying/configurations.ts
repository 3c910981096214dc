import { at, examples, manifestOf, read } from './files.ts'

/** Lists every configuration that is shipped for running the gateway, as text. */
export const configurations = [
  { name: 'the image', text: read('config/image.yaml') },
  { name: 'kubernetes', text: String(at(manifestOf('ConfigMap'), 'data', 'gateway.yaml')) },
  { name: 'systemd', text: read(`${examples}/systemd/gateway.yaml`) },
  { name: 'compose', text: read(`${examples}/compose/gateway/gateway.yaml`) },
] as const
