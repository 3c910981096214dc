import { boolean, choice, duration, map, optionalDuration } from '../schema/scalar-types.ts'

export const reloadSchema = map('How an edit of this file is noticed, and tried', {
  watch: boolean('Whether an edit of the file is noticed; else only SIGHUP and POST /reload').prefault(true),
  poll: optionalDuration('How often contents are compared as well, for mounts that tell nothing').prefault('5s'),
  preflight: choice('How endpoints that an edit brings are tried before it takes effect', [
    'connect',
    'health',
    'none',
  ]).prefault('connect'),
})

export const shutdownSchema = map('How the gateway ends: say not ready, wait, finish what runs', {
  wait: duration('How long connections are still accepted after /ready says no', { min: 0 }).prefault('5s'),
  deadline: duration('Longest shutdown in all, the wait included').prefault('25s'),
})
