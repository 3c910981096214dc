import './tokens-and-changes.test.ts'
