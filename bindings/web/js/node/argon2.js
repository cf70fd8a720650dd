import "./load.js"
export * from "../argon2.js"
export { default } from "../argon2.js"
