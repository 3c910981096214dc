#!/usr/bin/env node
// This file is JavaScript: to start a file of TypeScript, Node would load its type stripper (0.1 s).
import './check-node-version.js'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

// Beside the packages: a user who can write there can change them anyway. In a shared folder such as /tmp, an attacker
// could plant code. In the environment, so that threads and child processes use the same folder.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/lender-gateway', import.meta.url))
module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
await import('./run.ts')
