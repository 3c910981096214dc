import './workers.test.ts'
