declare module "virtual:diagram-frame" {
  /** The address of the document in which diagrams are drawn. */
  const address: string;
  export default address;
}
