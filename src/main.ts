#!/usr/bin/env node
// The command. JavaScript: Node would load its TypeScript stripper (0.1 s) to begin with any other file.
import './check-node-version.js'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

// Beside the packages: a user who can write there can write the packages that run. In a folder for all, /tmp, an
// attacker could run any code. By the environment: threads and processes that this one starts keep theirs there too.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/lender-gateway', import.meta.url))
module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
await import('./run.ts')
