import './npm-start.test.ts'
